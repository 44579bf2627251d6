/*
 * swap.c: opens one library after the other, each where the one before was, compiles the
 * same with each, and prints which release made the PTX.
 *
 *	swap LIBRARY...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(const char *path)
{
	void *l = dlopen(path, RTLD_NOW | RTLD_LOCAL), *p;
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *), (*size)(void *, size_t *), (*get)(void *, char *), (*destroy)(void **);
	size_t n = 0;
	if (l == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&create = dlsym(l, "nvrtcCreateProgram");
	*(void **)&compile = dlsym(l, "nvrtcCompileProgram");
	*(void **)&size = dlsym(l, "nvrtcGetPTXSize");
	*(void **)&get = dlsym(l, "nvrtcGetPTX");
	*(void **)&destroy = dlsym(l, "nvrtcDestroyProgram");
	if (create(&p, "__global__ void k() {}\n", "x.cu", 0, NULL, NULL) != 0 || compile(p, 0, NULL) != 0 || size(p, &n) != 0)
		return 1;
	char *text = calloc(n + 1, 1);
	get(p, text);
	const char *version = strstr(text, "V11");
	printf("%.8s\n", version != NULL ? version : "unknown");
	free(text);
	destroy(&p);
	dlclose(l);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;
	dlopen("libnvrtc-builtins.so.11.8", RTLD_NOW);
	for (int i = 1; i < argc && !bad; i++)
		bad = run(argv[i]);
	return bad;
}
