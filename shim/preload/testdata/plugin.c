/*
 * plugin.c: a library that is linked to NVRTC, for a program that opens it with
 * RTLD_LOCAL. run compiles, and returns the size of what was made; 0: an error.
 */
#include <stddef.h>

int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcDestroyProgram(void **);

size_t run(const char *source);
size_t run(const char *source)
{
	void *p;
	size_t n = 0;
	if (nvrtcCreateProgram(&p, source, "plugin.cu", 0, NULL, NULL) != 0)
		return 0;
	if (nvrtcCompileProgram(p, 0, NULL) != 0 || nvrtcGetPTXSize(p, &n) != 0)
		n = 0;
	return nvrtcDestroyProgram(&p) == 0 ? n : 0;
}
