/*
 * fork_lookup.c: makes children while other threads look functions of a compiler up, and
 * has the children do so too.
 *
 *	fork_lookup LIBRARY CHILDREN
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
static atomic_bool enough;

static void *look(void *unused)
{
	while (!atomic_load(&enough))
		dlsym(library, "nvrtcCreateProgram");
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int hung = 0;
	if (argc < 3 || (library = dlopen(argv[1], RTLD_NOW)) == NULL)
		return 2;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, look, NULL);
	for (int i = 0; i < atoi(argv[2]) && hung == 0; i++) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			alarm(240);
			_exit(dlsym(library, "nvrtcGetPTX") == NULL);
		}
		waitpid(child, &status, 0);
		hung = status;
	}
	atomic_store(&enough, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("status of the last child: %x\n", (unsigned)hung);
	return 0;
}
