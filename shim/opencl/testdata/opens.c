/*
 * opens.c: opens a library, calls its function Bare, and prints how many microseconds that took.
 *
 *     opens LIBRARY
 */
#include <dlfcn.h>
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
	printf("%.1f\n", now() - start);
	return 0;
}
