/* rtc LIBRARY nvrtc|hiprtc OPTION: compiles a kernel. */
#include <dlfcn.h>
#include <stdio.h>

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
	return e != 0;
}
