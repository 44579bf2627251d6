/*
 * fork_first.c: makes a child while a thread looks up the first function of a library, and
 * has the child look another one up; many times, each in a process of its own.
 *
 *	fork_first LIBRARY FUNCTION OTHER TIMES
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library;
static const char *function, *other;
static atomic_bool started;

static void *look(void *unused)
{
	atomic_store(&started, true);
	dlsym(library, function);
	return unused;
}

/* A while that is a little longer with each round. */
static void pause_for(int round)
{
	for (volatile int i = 0; i < round % 60 * 1000; i++)
		;
}

static int once(int round)
{
	pthread_t thread;
	int status;
	pthread_create(&thread, NULL, look, NULL);
	while (!atomic_load(&started))
		;
	pause_for(round);
	pid_t child = fork();
	if (child == 0) {
		alarm(240);
		_exit(dlsym(library, other) == NULL);
	}
	waitpid(child, &status, 0);
	pthread_join(thread, NULL);
	return status != 0;
}

int main(int argc, char **argv)
{
	if (argc < 5 || (library = dlopen(argv[1], RTLD_NOW)) == NULL)
		return 2;
	function = argv[2];
	other = argv[3];
	for (int i = 0; i < atoi(argv[4]); i++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			_exit(once(i));
		waitpid(child, &status, 0);
		if (status != 0) {
			printf("a child hung\n");
			return 1;
		}
	}
	printf("none hung\n");
	return 0;
}
