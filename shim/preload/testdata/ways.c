/*
 * front ends.c: two front ends of one shim, with shim/library/library.c in it.
 *
 *	front ends one-by-one     which handlers of crashes are there while somebody compiles
 *	front ends fork           a child that was made while the library was being opened
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../library/library.h"

static struct library_front first = {.runtime = "rtc"};
static struct library_front second = {.runtime = "levelzero"};

static const char *whose(void)
{
	struct sigaction a;
	sigaction(SIGSEGV, NULL, &a);
	return a.sa_handler == SIG_DFL ? "nobody's" : "somebody's";
}

static void compile(void)
{
	library_compiles(true);
	printf("%s, ", whose());
	library_compiles(false);
	printf("%s\n", whose());
}

static void *open_first(void *unused)
{
	library_open(&first);
	return unused;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		pthread_t thread;
		int status, opening[2], opened[2];
		char text[32];
		if (pipe(opening) != 0 || pipe(opened) != 0)
			return 1;
		snprintf(text, sizeof(text), "%d %d", opening[1], opened[0]);
		setenv("SLOW_LIBRARY", text, 1);
		pthread_create(&thread, NULL, open_first, NULL);
		if (read(opening[0], text, 1) != 1)
			return 1;
		pid_t child = fork();
		if (child == 0) {
			alarm(240);
			printf("%s\n", library_open(&second) == NULL ? "it stays out" : "it is open");
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (write(opened[1], "", 1) != 1)
			return 1;
		printf("status %x\n", (unsigned)status);
		pthread_join(thread, NULL);
		return 0;
	}
	compile();
	printf("%s\n", library_open(&first) == NULL ? "out" : "open");
	compile();
	printf("%s\n", library_open(&second) == NULL ? "out" : "open");
	compile();
	return 0;
}
