/*
 * thin.c: a library that is linked to NVRTC and leaves no trace of itself where it calls
 * it: its calls are the last that its functions do, and it hands out NVRTC's own.
 */
#include <stddef.h>

int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcDestroyProgram(void **);

int thin_create(void **program, const char *source);
int thin_create(void **program, const char *source)
{
	return nvrtcCreateProgram(program, source, "thin.cu", 0, NULL, NULL);
}

struct thin {
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*size)(void *, size_t *);
	int (*destroy)(void **);
};

extern const struct thin thin;
const struct thin thin = {nvrtcCreateProgram, nvrtcCompileProgram, nvrtcGetPTXSize, nvrtcDestroyProgram};
