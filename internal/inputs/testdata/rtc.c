/* rtc LIBRARY nvrtc|hiprtc OPTION [MS]: compiles a kernel, and lives on for some milliseconds. */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	void *h = argc < 4 ? NULL : dlopen(argv[1], RTLD_NOW), *p = NULL;
	if (h == NULL)
		return puts(dlerror()), 2;
	char name[100];
	snprintf(name, sizeof(name), "%sCreateProgram", argv[2]);
	int (*create)(void **, const char *, const char *, int, const char **, const char **) = dlsym(h, name);
	snprintf(name, sizeof(name), "%sCompileProgram", argv[2]);
	int (*compile)(void *, int, const char **) = dlsym(h, name);
	const char *options[] = {argv[3]};
	int e = create(&p, "extern \"C\" __global__ void k(int *a) { a[0] = 1; }", "k.cu", 0, NULL, NULL);
	e |= compile(p, 1, options);
	printf("%d\n", e);
	if (argc > 4) {
		struct timespec t = {atoi(argv[4]) / 1000, atoi(argv[4]) % 1000 * 1000000L};
		nanosleep(&t, NULL);
	}
	return e != 0;
}
