/*
 * thin_host.c: compiles through thin.c, which it opens with RTLD_LOCAL: it is linked to no
 * compiler, and neither is what else is in its scope.
 *
 *	thin_host LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>

struct thin {
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*size)(void *, size_t *);
	int (*destroy)(void **);
};

int main(int argc, char **argv)
{
	void *library = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *p = NULL;
	int (*create)(void **, const char *);
	size_t n = 0;
	if (library == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	const struct thin *thin = dlsym(library, "thin");
	*(void **)&create = dlsym(library, "thin_create");
	for (int i = 0; i < 2; i++) {
		const char *source = i == 0 ? "__global__ void k() {}\n" : "__global__ void l() {}\n";
		int code = i == 0 ? create(&p, source) : thin->create(&p, source, "thin.cu", 0, NULL, NULL);
		printf("create: %d\n", code);
		if (code != 0)
			return 1;
		printf("compile: %d\n", thin->compile(p, 0, NULL));
		printf("size: %d\n", thin->size(p, &n));
		printf("%zu bytes\n", n);
		printf("destroy: %d\n", thin->destroy(&p));
	}
	return 0;
}
