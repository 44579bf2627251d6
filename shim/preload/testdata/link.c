/* link.c: HIPRTC's functions for linking: what each returns that there is; link LIBRARY. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	static const char *const names[] = {"hiprtcLinkCreate", "hiprtcLinkAddData", "hiprtcLinkAddFile", "hiprtcLinkComplete", "hiprtcLinkDestroy"};
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (library == NULL)
		return 2;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int (*f)(void *, void *, void *, void *, void *, void *, void *, void *);
		*(void **)&f = dlsym(library, names[i]);
		if (f == NULL)
			printf("%s: %s\n", names[i], dlerror());
		else
			printf("%s: %d\n", names[i], f(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	}
	return 0;
}
