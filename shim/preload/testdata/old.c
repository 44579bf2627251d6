/*
 * old.c: stands for an NVRTC of long ago, which has no name expressions and makes no
 * machine code; and for one whose other half is not there, or is BUILTINS. Its code is the source, and the options.
 * Its version is 7.5, or the one that MAJOR and MINOR give.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 7
#define MINOR 5
#endif

struct program {
	char *text;
};

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor) { return *major = MAJOR, *minor = MINOR, 0; }

const char *nvrtcGetErrorString(int code);
const char *nvrtcGetErrorString(int code) { return code == 0 ? "NVRTC_SUCCESS" : "an error"; }

int nvrtcCreateProgram(struct program **p, const char *source, const char *name, int n, const char *const *h, const char *const *i);
int nvrtcCreateProgram(struct program **p, const char *source, const char *name, int n, const char *const *h, const char *const *i)
{
	(void)name, (void)n, (void)h, (void)i;
	*p = malloc(sizeof **p);
	(*p)->text = strdup(source);
	return 0;
}

int nvrtcDestroyProgram(struct program **p);
int nvrtcDestroyProgram(struct program **p)
{
	free((*p)->text);
	free(*p);
	*p = NULL;
	return 0;
}

int nvrtcCompileProgram(struct program *p, int n, const char *const *options);
int nvrtcCompileProgram(struct program *p, int n, const char *const *options) {
#ifdef BUILTINS
	if (dlopen(BUILTINS, RTLD_NOW) == NULL)
		return 7;
#endif
	for (int i = 0; i < n; i++) {
		p->text = realloc(p->text, strlen(p->text) + strlen(options[i]) + 2);
		strcat(strcat(p->text, "\n"), options[i]);
	}
	return 0;
}

int nvrtcGetPTXSize(struct program *p, size_t *size);
int nvrtcGetPTXSize(struct program *p, size_t *size) { return *size = strlen(p->text) + 1, 0; }

int nvrtcGetPTX(struct program *p, char *to);
int nvrtcGetPTX(struct program *p, char *to) { return strcpy(to, p->text), 0; }

int nvrtcGetProgramLogSize(struct program *p, size_t *size);
int nvrtcGetProgramLogSize(struct program *p, size_t *size) { return (void)p, *size = 1, 0; }

int nvrtcGetProgramLog(struct program *p, char *to);
int nvrtcGetProgramLog(struct program *p, char *to) { return (void)p, *to = 0, 0; }
