/*
 * opens.c: opens a library and calls its function Bare, again and again, with all signals held back
 * around each call. Prints the microseconds until the first call is done, and the nanoseconds of one of
 * the others.
 *
 *     opens LIBRARY
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	double start = now();
	void *library = dlopen(argv[1], RTLD_NOW);
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	long (*bare)(void) = (long (*)(void))dlsym(library, "Bare");
	if (bare == NULL || bare() != 1)
		return 1;
	double opened = now() - start, least = 1e9;
	sigset_t all, before;
	sigfillset(&all);
	for (int round = 0; round < 10; round++) {
		const int times = 300;
		start = now();
		for (int i = 0; i < times; i++) {
			sigprocmask(SIG_BLOCK, &all, &before);
			if (bare() != 1)
				return 1;
			sigprocmask(SIG_SETMASK, &before, NULL);
		}
		double took = (now() - start) / times;
		if (took < least)
			least = took;
	}
	printf("opened %.1f call %.0f\n", opened, least * 1e3);
	return 0;
}
