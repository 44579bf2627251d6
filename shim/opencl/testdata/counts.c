/* counts.c: the fake driver's own function, of the one that a program has opened. */
#include <dlfcn.h>
#include <stdlib.h>

void fake_driver_counts(long *programs, long *kernels, long *built, long *restored);
void fake_driver_counts(long *programs, long *kernels, long *built, long *restored)
{
	void (*counts)(long *, long *, long *, long *);
	*(void **)&counts = dlsym(dlopen(getenv("OPENED"), RTLD_NOW), "fake_driver_counts");
	counts(programs, kernels, built, restored);
}
