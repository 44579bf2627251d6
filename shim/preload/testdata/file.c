/*
 * file.c: compiles a file with NVRTC, and prints the PTX, and the size of the cubin.
 *
 *	file LIBRARY FILE [OPTION...]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static int call(const char *name, void *a, void *b)
{
	int (*f)(void *, void *);
	*(void **)&f = dlsym(library, name);
	return f == NULL ? -1 : f(a, b);
}

int main(int argc, char **argv)
{
	static char source[1 << 20];
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *);
	void *p;
	size_t n = 0;
	if (argc < 3 || (library = dlopen(argv[1], RTLD_NOW)) == NULL)
		return 2;
	FILE *f = fopen(argv[2], "r");
	if (f == NULL || fread(source, 1, sizeof source - 1, f) == 0)
		return 2;
	fclose(f);
	*(void **)&create = dlsym(library, "nvrtcCreateProgram");
	*(void **)&compile = dlsym(library, "nvrtcCompileProgram");
	if (create(&p, source, argv[2], 0, NULL, NULL) != 0)
		return 1;
	int code = compile(p, argc - 3, (const char *const *)argv + 3);
	call("nvrtcGetProgramLogSize", p, &n);
	char *text = malloc(n + 1);
	call("nvrtcGetProgramLog", p, text);
	if (code != 0) {
		printf("%d\n%s\n", code, text);
		return 1;
	}
	call("nvrtcGetPTXSize", p, &n);
	text = realloc(text, n + 1);
	call("nvrtcGetPTX", p, text);
	puts(text);
	n = 0;
	call("nvrtcGetCUBINSize", p, &n);
	printf("%zu bytes of machine code\n", n);
	return 0;
}
