/*
 * observe.c: asks a run-time compiler everything, of two dozen programs, and prints each
 * answer: contents as digests. It is run without the cache, with a cold and with a warm
 * one, and must print the same.
 *
 *	[OBSERVE_EVERY=N] observe nvrtc|hiprtc plain|odd [LIBRARY | linked]
 *
 * plain: what well-behaved programs ask. odd: wrong arguments, wrong order, twice.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*create_fn)(void **, const char *, const char *, int, const char *const *, const char *const *);
typedef int (*destroy_fn)(void **);
typedef int (*add_fn)(void *, const char *);
typedef int (*compile_fn)(void *, int, const char *const *);
typedef int (*lowered_fn)(void *, const char *, const char **);
typedef int (*size_fn)(void *, size_t *);
typedef int (*get_fn)(void *, char *);

static struct {
	create_fn create;
	destroy_fn destroy;
	add_fn add;
	compile_fn compile;
	lowered_fn lowered;
	struct {
		const char *name;
		size_fn size;
		get_fn get;
	} pieces[8];
	int npieces;
} api;

#ifdef LINKED
int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *);
int nvrtcDestroyProgram(void **);
int nvrtcAddNameExpression(void *, const char *);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetLoweredName(void *, const char *, const char **);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcGetPTX(void *, char *);
int nvrtcGetCUBINSize(void *, size_t *);
int nvrtcGetCUBIN(void *, char *);
int nvrtcGetNVVMSize(void *, size_t *);
int nvrtcGetNVVM(void *, char *);
int nvrtcGetProgramLogSize(void *, size_t *);
int nvrtcGetProgramLog(void *, char *);

static void *linked(const char *name)
{
#define ONE(f) if (strcmp(name, #f) == 0) return *(void **)&(void *){(void *)(uintptr_t)f}
	ONE(nvrtcCreateProgram);
	ONE(nvrtcDestroyProgram);
	ONE(nvrtcAddNameExpression);
	ONE(nvrtcCompileProgram);
	ONE(nvrtcGetLoweredName);
	ONE(nvrtcGetPTXSize);
	ONE(nvrtcGetPTX);
	ONE(nvrtcGetCUBINSize);
	ONE(nvrtcGetCUBIN);
	ONE(nvrtcGetNVVMSize);
	ONE(nvrtcGetNVVM);
	ONE(nvrtcGetProgramLogSize);
	ONE(nvrtcGetProgramLog);
	return NULL;
}
#endif

static void *handle;

static void *find(const char *prefix, const char *name, const char *suffix)
{
	char full[128];
	snprintf(full, sizeof full, "%s%s%s", prefix, name, suffix);
#ifdef LINKED
	if (handle == NULL)
		return linked(full);
#endif
	return dlsym(handle, full);
}

static void load(const char *prefix)
{
	static const char *const pieces[] = {"ProgramLog", "PTX", "CUBIN", "LTOIR", "OptiXIR", "NVVM", "Code", "Bitcode"};
	*(void **)&api.create = find(prefix, "CreateProgram", "");
	*(void **)&api.destroy = find(prefix, "DestroyProgram", "");
	*(void **)&api.add = find(prefix, "AddNameExpression", "");
	*(void **)&api.compile = find(prefix, "CompileProgram", "");
	*(void **)&api.lowered = find(prefix, "GetLoweredName", "");
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		void *size = find(prefix, "Get", ""), *get;
		char name[64];
		snprintf(name, sizeof name, "Get%s", pieces[i]);
		get = find(prefix, name, "");
		size = find(prefix, name, "Size");
		if (get == NULL || size == NULL)
			continue;
		api.pieces[api.npieces].name = pieces[i];
		*(void **)&api.pieces[api.npieces].size = size;
		*(void **)&api.pieces[api.npieces].get = get;
		api.npieces++;
	}
	if (api.create == NULL || api.destroy == NULL || api.compile == NULL || api.npieces < 2) {
		printf("not whole\n");
		exit(3);
	}
}

static unsigned long long digest(const char *b, size_t n)
{
	unsigned long long h = 14695981039346656037ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)b[i]) * 1099511628211ull;
	return h;
}

static void ask(void *p, int odd)
{
	for (int i = 0; i < api.npieces; i++) {
		size_t n = 4711;
		int code = api.pieces[i].size(p, &n);
		printf("  %s size: %d, %zu\n", api.pieces[i].name, code, n);
		if (code != 0 || n > 1 << 28 || (n == 0 && !odd))
			continue;
		char *b = malloc(n + 64);
		memset(b, '#', n + 64);
		code = api.pieces[i].get(p, b);
		printf("  %s: %d, %016llx, behind it %c\n", api.pieces[i].name, code, digest(b, n), b[n]);
		if (i == 0)
			printf("[%.*s]\n", (int)n, b);
		free(b);
	}
}

static void names(void *p, const char *const *expressions)
{
	for (int i = 0; expressions[i] != NULL; i++) {
		const char *name = "unset";
		int code = api.lowered(p, expressions[i], &name);
		printf("  %s: %d, %s\n", expressions[i], code, code == 0 ? name : "-");
	}
}

struct program {
	const char *label, *source, *name;
	const char *options[8];
	const char *expressions[4];
	const char *headers[4], *includes[4];
};

#define KERNEL "extern \"C\" __global__ void k(int *p) { *p = N; }\n"
#define TEMPLATE "template <class T> __global__ void t(T *p, T v) { *p = v; }\nnamespace a { __device__ int g; __constant__ int c; }\n"

static const struct program nvrtc[] = {
	{"virtual", "#define N 1\n" KERNEL, NULL, {NULL}, {NULL}, {NULL}, {NULL}},
	{"compute_80", "#define N 1\n" KERNEL, "a.cu", {"--gpu-architecture=compute_80"}, {NULL}, {NULL}, {NULL}},
	{"sm_80", "#define N 1\n" KERNEL, "a.cu", {"-arch=sm_80"}, {NULL}, {NULL}, {NULL}},
	{"sm_90", "#define N 1\n" KERNEL, "a.cu", {"-arch", "sm_90"}, {NULL}, {NULL}, {NULL}},
	{"defined", KERNEL, "a.cu", {"-arch=sm_80", "-DN=7"}, {NULL}, {NULL}, {NULL}},
	{"defined apart", KERNEL, "a.cu", {"-arch=sm_80", "-D", "N=8"}, {NULL}, {NULL}, {NULL}},
	{"defined with blanks", KERNEL, "a.cu", {"-arch=sm_80", "-DN=(1 + 2)"}, {NULL}, {NULL}, {NULL}},
	{"defined with quotes", "__device__ const char s[] = TEXT;\n" KERNEL, "a.cu", {"-DN=1", "-DTEXT=\"a b\\\\c\""}, {NULL}, {NULL}, {NULL}},
	{"lto", "#define N 2\n" KERNEL, "a.cu", {"-dlto", "-arch=compute_80", "-rdc=true"}, {NULL}, {NULL}, {NULL}},
	{"lto, sm", "#define N 2\n" KERNEL, "a.cu", {"-dlto", "-arch=sm_80"}, {NULL}, {NULL}, {NULL}},
	{"rdc", "#define N 2\n" KERNEL, "a.cu", {"-rdc=true", "-arch=sm_80"}, {NULL}, {NULL}, {NULL}},
	{"debug", "#define N 2\n" KERNEL, "a.cu", {"-G", "-arch=sm_80"}, {NULL}, {NULL}, {NULL}},
	{"line info", "#define N __LINE__\n" KERNEL, "b/a.cu", {"-lineinfo", "-arch=sm_80"}, {NULL}, {NULL}, {NULL}},
	{"file", "__device__ const char f[] = __FILE__;\n#define N 1\n" KERNEL, "b/a.cu", {NULL}, {NULL}, {NULL}, {NULL}},
	{"template", TEMPLATE, "t.cu", {"-arch=sm_80"}, {"t<float>", "t<double>", "&a::g"}, {NULL}, {NULL}},
	{"template of numbers", "template <int A, int B> __global__ void n(int *p) { *p = A + B; }\n", "t.cu", {"-std=c++17"}, {"n<1, -1>", "n<(2 > 1), 3>"}, {NULL}, {NULL}},
	{"c++17", "template <auto X> __global__ void x(int *p) { if constexpr (X > 1) *p = X; }\n", "x.cu", {"--std=c++17"}, {"x<3>"}, {NULL}, {NULL}},
	{"warns", "extern \"C\" __global__ void k(int *p) { int unused; *p = 1; }\n", "w.cu", {"-arch=compute_70"}, {NULL}, {NULL}, {NULL}},
	{"warns of itself", "#warning this one\n#define N 1\n" KERNEL, NULL, {NULL}, {NULL}, {NULL}, {NULL}},
	{"fast", "extern \"C\" __global__ void k(float *p) { *p = sinf(*p) / 3; }\n", "f.cu", {"--use_fast_math", "-arch=sm_75"}, {NULL}, {NULL}, {NULL}},
	{"registers", "#define N 1\n" KERNEL, "r.cu", {"--maxrregcount=32", "-arch=sm_86"}, {NULL}, {NULL}, {NULL}},
	{"default device", "int f() { return 4; }\n#define N f()\n" KERNEL, "d.cu", {"--device-as-default-execution-space"}, {NULL}, {NULL}, {NULL}},
	{"headers in memory", "#include \"n.h\"\n#include <m.h>\n" KERNEL, "h.cu", {"-I."}, {NULL}, {"#define N M\n", "#define M 5\n"}, {"n.h", "m.h"}},
	{"header file", "#include \"file.h\"\n" KERNEL, "h.cu", {"-I", "include", "-arch=sm_80"}, {NULL}, {NULL}, {NULL}},
	{"header files, nested", "#include <outer.h>\n" KERNEL, "h.cu", {"-Iempty", "--include-path=include"}, {NULL}, {NULL}, {NULL}},
	{"header file, one word", "#include \"file.h\"\n" KERNEL, "h.cu", {"-I include"}, {NULL}, {NULL}, {NULL}},
	{"much", "#define N 1\n" KERNEL "#define R(n) __global__ void r##n(float *p) { for (int i = 0; i < n; i++) p[i] = sqrtf(p[i]) * n; }\nR(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8)\n", "much.cu", {"-arch=sm_90"}, {NULL}, {NULL}, {NULL}},
	{NULL, NULL, NULL, {NULL}, {NULL}, {NULL}, {NULL}},
};

/* The same after every change of what a build could go wrong with; none is stored but the
 * empty one. */
static const struct program nvrtc_wrong[] = {
	{"does not compile", "nonsense\n", "n.cu", {NULL}, {NULL}, {NULL}, {NULL}},
	{"no such option", "#define N 1\n" KERNEL, "n.cu", {"--no-such-option"}, {NULL}, {NULL}, {NULL}},
	{"no such header", "#include <nowhere.h>\n", "n.cu", {"-Iinclude"}, {NULL}, {NULL}, {NULL}},
	{"no such name", TEMPLATE, "n.cu", {NULL}, {"t<float>", "u<int>"}, {NULL}, {NULL}},
	{"no such architecture", "#define N 1\n" KERNEL, "n.cu", {"-arch=sm_1"}, {NULL}, {NULL}, {NULL}},
	{"empty", "", "n.cu", {NULL}, {NULL}, {NULL}, {NULL}},
	{"empty name", "#define N 1\n" KERNEL, "", {NULL}, {NULL}, {NULL}, {NULL}},
	{NULL, NULL, NULL, {NULL}, {NULL}, {NULL}, {NULL}},
};

#define HIP "#include <hip/hip_runtime.h>\n"

static const struct program hiprtc[] = {
	{"gfx90a", "#define N 1\n" KERNEL, "a.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"gfx1030", "#define N 1\n" KERNEL, "a.hip", {"--offload-arch=gfx1030"}, {NULL}, {NULL}, {NULL}},
	{"by another name", "#define N 1\n" KERNEL, "a.hip", {"--gpu-architecture=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"no name", "#define N 1\n" KERNEL, NULL, {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"defined", KERNEL, "a.hip", {"--offload-arch=gfx90a", "-DN=7"}, {NULL}, {NULL}, {NULL}},
	{"defined with parentheses", KERNEL, "a.hip", {"--offload-arch=gfx90a", "-DN=(1+2)"}, {NULL}, {NULL}, {NULL}},
	{"template", TEMPLATE, "t.hip", {"--offload-arch=gfx90a"}, {"t<float>", "t<double>"}, {NULL}, {NULL}},
	{"template of numbers", "template <int A, int B> __global__ void n(int *p) { *p = A + B; }\n", "t.hip", {"--offload-arch=gfx1030"}, {"n<1, -1>"}, {NULL}, {NULL}},
	{"c++17", "template <auto X> __global__ void x(int *p) { if constexpr (X > 1) *p = X; }\n", "x.hip", {"--offload-arch=gfx90a", "-std=c++17"}, {"x<3>"}, {NULL}, {NULL}},
	{"warns", "#warning this one\n#define N 1\n" KERNEL, "w.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"fast", "extern \"C\" __global__ void k(float *p) { *p = sinf(*p) / 3; }\n", "f.hip", {"--offload-arch=gfx90a", "-ffast-math"}, {NULL}, {NULL}, {NULL}},
	{"unoptimised", "#define N 1\n" KERNEL, "o.hip", {"--offload-arch=gfx90a", "-O0"}, {NULL}, {NULL}, {NULL}},
	{"O1", "#define N 1\n" KERNEL, "o.hip", {"--offload-arch=gfx90a", "-O1"}, {NULL}, {NULL}, {NULL}},
	{"headers in memory", "#include \"n.h\"\n" KERNEL, "h.hip", {"--offload-arch=gfx90a"}, {NULL}, {"#include \"m.h\"\n#define N M\n", "#define M 5\n"}, {"n.h", "m.h"}},
	{"header file", "#include \"file.h\"\n" KERNEL, "h.hip", {"--offload-arch=gfx90a", "-Iinclude"}, {NULL}, {NULL}, {NULL}},
	{"wave64", "#define N warpSize\n" KERNEL, "v.hip", {"--offload-arch=gfx1030", "-mwavefrontsize64"}, {NULL}, {NULL}, {NULL}},
	{"shared", "extern \"C\" __global__ void k(int *p) { __shared__ int s[64]; s[threadIdx.x] = *p; __syncthreads(); *p = s[0]; }\n", "s.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"math", "extern \"C\" __global__ void k(double *p) { *p = exp(sin(*p)) + __shfl(1, 2); }\n", "m.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"gfx906", "#define N 1\n" KERNEL, "a.hip", {"--offload-arch=gfx906"}, {NULL}, {NULL}, {NULL}},
	{"much", "#define N 1\n" KERNEL "#define R(n) extern \"C\" __global__ void r##n(float *p) { for (int i = 0; i < n; i++) p[i] = sqrtf(p[i]) * n; }\nR(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8)\n", "much.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"relocatable", "#define N 1\n" KERNEL, "b.hip", {"--offload-arch=gfx90a", "-fgpu-rdc"}, {NULL}, {NULL}, {NULL}},
	{NULL, NULL, NULL, {NULL}, {NULL}, {NULL}, {NULL}},
};

static const struct program hiprtc_wrong[] = {
	{"does not compile", "nonsense\n", "n.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{"no such header", "#include <nowhere.h>\n", "n.hip", {"--offload-arch=gfx90a"}, {NULL}, {NULL}, {NULL}},
	{NULL, NULL, NULL, {NULL}, {NULL}, {NULL}, {NULL}},
};

static int count(const char *const *list)
{
	int n = 0;
	while (list[n] != NULL)
		n++;
	return n;
}

static void *make(const struct program *p)
{
	void *handle = NULL;
	int code = api.create(&handle, p->source, p->name, count(p->headers), p->headers, p->includes);
	printf("%s\n  create: %d\n", p->label, code);
	if (code != 0)
		return NULL;
	for (int i = 0; p->expressions[i] != NULL; i++)
		printf("  add: %d\n", api.add(handle, p->expressions[i]));
	return handle;
}

static void plain(const struct program *p)
{
	const char *every = getenv("OBSERVE_EVERY");
	int step = every != NULL ? atoi(every) : 1;
	for (int i = 0; p->label != NULL; p++, i++) {
		if (i % step != 0)
			continue;
		void *handle = make(p);
		if (handle == NULL)
			continue;
		printf("  compile: %d\n", api.compile(handle, count(p->options), p->options));
		fflush(stdout);
		ask(handle, 0);
		names(handle, p->expressions);
		int code = api.destroy(&handle);
		printf("  destroy: %d, %s\n", code, handle == NULL ? "NULL" : "not NULL");
	}
}

/* Each step of these leaves the well-trodden path in another way. */
static void odd(const struct program *p, int steps)
{
	static const char *const none[] = {NULL};
	for (int step = 0; step < steps; step++) {
		void *handle = make(p);
		const char *name = "unset";
		printf(" step %d\n", step);
		if (step == 0) { /* too early */
			ask(handle, 1);
			names(handle, p->expressions);
		}
		printf("  compile: %d\n", api.compile(handle, count(p->options), p->options));
		switch (step) {
		case 1:
			ask(handle, 1); /* also what is empty */
			break;
		case 2: /* NULL */
			for (int i = 0; i < api.npieces; i++) {
				printf("  %s size to NULL: %d\n", api.pieces[i].name, api.pieces[i].size(handle, NULL));
				printf("  %s to NULL: %d\n", api.pieces[i].name, api.pieces[i].get(handle, NULL));
			}
			break;
		case 3: /* too late */
			printf("  add: %d\n", api.add(handle, "t<char>"));
			break;
		case 4: /* a name that is none of the program's */
			printf("  lowered: %d\n", api.lowered(handle, "t<short>", &name));
			break;
		case 5: /* again, with the same options */
			printf("  compile: %d\n", api.compile(handle, count(p->options), p->options));
			break;
		case 6: /* again, with others */
			printf("  compile: %d\n", api.compile(handle, 0, none));
			break;
		case 7: /* another program at the same place */
			printf("  destroy: %d\n", api.destroy(&handle));
			handle = make(p + 1);
			printf("  compile: %d\n", api.compile(handle, count(p[1].options), p[1].options));
			break;
		}
		ask(handle, 0);
		names(handle, p->expressions);
		printf("  destroy: %d\n", api.destroy(&handle));
	}
	void *handle = NULL;
	printf("nothing\n  destroy: %d\n", api.destroy(&handle));
	printf("  compile: %d\n", api.compile(NULL, 0, none));
	ask(NULL, 1);
	printf("  create without source: %d\n", api.create(&handle, NULL, NULL, 0, NULL, NULL));
	printf("  create to nowhere: %d\n", api.create(NULL, p->source, NULL, 0, NULL, NULL));
	printf("  create with a negative number of headers: %d\n", api.create(&handle, p->source, NULL, -1, NULL, NULL));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	if (argc < 4)
		return 2;
	int nv = strcmp(argv[1], "nvrtc") == 0;
	if (strcmp(argv[3], "linked") != 0) {
		handle = strcmp(argv[3], "global") == 0 ? RTLD_DEFAULT : dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
		if (handle == NULL && strcmp(argv[3], "global") != 0) {
			printf("%s\n", dlerror());
			return 4;
		}
	}
	load(argv[1]);
	if (strcmp(argv[2], "plain") == 0)
		plain(nv ? nvrtc : hiprtc);
	else if (strcmp(argv[2], "wrong") == 0)
		plain(nv ? nvrtc_wrong : hiprtc_wrong);
	else
		odd(nv ? &nvrtc[14] : &hiprtc[6], nv ? 8 : atoi(getenv("STEPS") != NULL ? getenv("STEPS") : "7"));
	return 0;
}
