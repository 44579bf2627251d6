/*
 * newer.c: what only newer NVRTCs have: LTO IR and OptiX IR, a callback during the
 * compile, precompiled headers; newer LIBRARY. It prints each answer, and must print the
 * same without the cache, with a cold and with a warm one; of a library that lacks a
 * function, that it does. What files it makes go to the working directory.
 *
 * newer LIBRARY plain: one compile. newer LIBRARY restrict: the same behind one with --restrict.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../testdata/settle.h"

static void *library;
static int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
static int (*compile)(void *, int, const char *const *);
static int (*destroy)(void **);

static void *look_up(const char *name)
{
	dlerror();
	void *found = dlsym(library, name);
	const char *error = dlerror();
	if ((found == NULL) != (error != NULL))
		printf("%s: %s, and dlerror says %s\n", name, found == NULL ? "missing" : "there", error == NULL ? "nothing" : error);
	return found;
}

static unsigned long long digest(const char *b, size_t n)
{
	unsigned long long h = 14695981039346656037ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)b[i]) * 1099511628211ull;
	return h;
}

static void ask(void *p)
{
	static const char *const pieces[] = {"PTX", "CUBIN", "LTOIR", "OptiXIR", "NVVM", "TileIR", "ProgramLog"};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		char name[64];
		size_t n = 0;
		int (*size)(void *, size_t *), (*get)(void *, char *);
		snprintf(name, sizeof name, "nvrtcGet%sSize", pieces[i]);
		*(void **)&size = look_up(name);
		snprintf(name, sizeof name, "nvrtcGet%s", pieces[i]);
		*(void **)&get = look_up(name);
		if (size == NULL || get == NULL) {
			printf("  %s: missing\n", pieces[i]);
			continue;
		}
		int code = size(p, &n);
		printf("  %s size: %d, %zu\n", pieces[i], code, n);
		if (code != 0 || n == 0)
			continue;
		char *b = malloc(n);
		code = get(p, b);
		printf("  %s: %d, %016llx\n", pieces[i], code, digest(b, n));
		free(b);
	}
}

static void *make(const char *label, const char *source)
{
	void *p = NULL;
	printf("%s\n  create: %d\n", label, create(&p, source, "newer.cu", 0, NULL, NULL));
	return p;
}

static void run(void *p, const char *first, const char *second)
{
	const char *options[] = {"-arch=compute_80", first, second};
	printf("  compile: %d\n", compile(p, second != NULL ? 3 : first != NULL ? 2 : 1, options));
	fflush(stdout);
}

static int called;

static int flow(void *payload, void *reserved)
{
	called++;
	return reserved == NULL ? *(int *)payload : 1;
}

/* A compile that may be stopped, where one that may not is known already. */
static void flows(int stop)
{
	int (*set)(void *, int (*)(void *, void *), void *);
	*(void **)&set = look_up("nvrtcSetFlowCallback");
	void *p = make(stop ? "a callback that stops" : "a callback", "extern \"C\" __global__ void k(int *p) { *p = 3; }\n");
	run(p, NULL, NULL);
	ask(p);
	destroy(&p);
	if (set == NULL) {
		printf("  missing\n");
		return;
	}
	for (int late = 0; late < 2; late++) {
		p = make(late ? " set late" : " set at once", "extern \"C\" __global__ void k(int *p) { *p = 3; }\n");
		if (late)
			run(p, NULL, NULL);
		called = 0;
		printf("  set: %d\n", set(p, flow, &stop));
		run(p, NULL, NULL);
		printf("  called: %s\n", called > 0 ? "yes" : "no");
		if (!stop)
			ask(p);
		destroy(&p);
	}
}

static void headers(const char *label, const char *first, const char *second, const char *file)
{
	int (*status)(void *);
	*(void **)&status = look_up("nvrtcGetPCHCreateStatus");
	void *p = make(label, "#include \"newer.h\"\nextern \"C\" __global__ void k(int *p) { *p = NEWER; }\n");
	run(p, first, second);
	if (status != NULL)
		printf("  made: %d\n", status(p));
	else
		printf("  missing\n");
	ask(p);
	if (file != NULL)
		printf("  %s: %s\n", file, access(file, F_OK) == 0 ? "there" : "not there");
	destroy(&p);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (library == NULL) {
		printf("%s\n", argc > 1 ? dlerror() : "which library?");
		return 2;
	}
	*(void **)&create = look_up("nvrtcCreateProgram");
	*(void **)&compile = look_up("nvrtcCompileProgram");
	*(void **)&destroy = look_up("nvrtcDestroyProgram");
	if (argc > 2) {
		const char *k = "extern \"C\" __global__ void k(const float *a, float *b) { b[0] = a[0]; b[1] = a[0] + 2; }\n";
		void *p = make("k", k);
		run(p, strcmp(argv[2], "restrict") == 0 ? "--restrict" : NULL, NULL);
		destroy(&p);
		p = make("k again", k);
		run(p, NULL, NULL);
		ask(p);
		destroy(&p);
		settle(0, 300);
		return 0;
	}
	FILE *f = fopen("newer.h", "w");
	if (f == NULL || fputs("#define NEWER 4\ntemplate <class T> __device__ T twice(T x) { return x + x; }\n", f) < 0 || fclose(f) != 0)
		return 3;
	remove("newer.pch");

	void *p = make("LTO IR", "extern \"C\" __global__ void k(int *p) { *p = 1; }\n");
	run(p, "-dlto", "-rdc=true");
	ask(p);
	destroy(&p);
	p = make("OptiX IR", "extern \"C\" __global__ void __raygen__k() {}\n");
	run(p, "--optix-ir", NULL);
	ask(p);
	destroy(&p);
	flows(0);
	flows(1);
	headers("precompiled: none", NULL, NULL, NULL);
	headers("precompiled: one is made", "--create-pch=newer.pch", NULL, "newer.pch");
	headers("precompiled: it is used", "--use-pch=newer.pch", NULL, "newer.pch");
	headers("precompiled: by itself", "--pch", "--pch-dir=.", NULL);
	remove("newer.pch");
	/* What is told of the last ones is written in the background. */
	const char *asked = getenv("NEWER_ASKED");
	settle(asked == NULL ? 0 : atol(asked), 300);
	return 0;
}
