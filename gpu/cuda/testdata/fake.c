/*
 * A library in the place of libcuda.so.1, for what a real driver does not do when
 * it is told to: errors, missing entry points (-DOLD), objects left behind. Its
 * device memory is memory of the process; its kernels do nothing.
 *
 * FAKE_CUDA_FAIL="cuInit=100" makes calls fail from the start, fake_fail later.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101,
	INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY = 209, INVALID_PTX = 218, INVALID_HANDLE = 400,
	NOT_FOUND = 500, NOT_READY = 600, CONTEXT_IS_DESTROYED = 709,
};

typedef uint64_t pointer;

struct object {
	char kind; /* c m s e l */
	char *data;
	size_t size;
	int dead;
};

struct function {
	struct object *module;
	char name[256];
	int sizes[16], params;
	struct function *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counts[128];
static int initialised;
static struct { char name[64]; int code, skip, times; } faults[16];
static struct function *functions;
static unsigned char launched[4096];
static int launched_size;
static struct object primary = { .kind = 'c' };
static int primary_uses;
static int sm = 70;

static __thread struct object *stack[64];
static __thread int depth;

int fake_fail(const char *name, int code, int skip, int times)
{
	int done = -1;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults) && done < 0; i++) {
		if (faults[i].name[0] && strcmp(faults[i].name, name) != 0)
			continue;
		snprintf(faults[i].name, sizeof(faults[i].name), "%s", name);
		faults[i].code = code;
		faults[i].skip = skip;
		faults[i].times = times;
		done = 0;
	}
	pthread_mutex_unlock(&mutex);
	return done;
}

/* How many objects of a kind there are: c contexts, m modules, s streams, e events, l links, p memory; x: releases of what was not there. */
int fake_count(int kind) { return kind == 'd' ? depth : counts[kind & 127]; }

/* The arguments of the last launch, one behind the other. */
int fake_launched(unsigned char *to) { memcpy(to, launched, launched_size); return launched_size; }

static int fault(const char *name)
{
	int code = SUCCESS;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		if (strcmp(faults[i].name, name) != 0 || !faults[i].times)
			continue;
		if (faults[i].skip > 0) {
			faults[i].skip--;
			continue;
		}
		faults[i].times--;
		code = faults[i].code;
	}
	pthread_mutex_unlock(&mutex);
	return code;
}

#define ENTER do { int failed_ = fault(__func__); if (failed_) return failed_; if (!initialised) return NOT_INITIALIZED; } while (0)
#define CURRENT do { ENTER; if (!depth || !stack[depth - 1]) return INVALID_CONTEXT; if (stack[depth - 1]->dead) return CONTEXT_IS_DESTROYED; } while (0)

static void count(char kind, int n)
{
	pthread_mutex_lock(&mutex);
	counts[(int)kind] += n;
	pthread_mutex_unlock(&mutex);
}

static struct object *make(char kind)
{
	struct object *o = calloc(1, sizeof(*o));
	o->kind = kind;
	count(kind, 1);
	return o;
}

/* Objects are never freed, so that a second release is seen. */
static int end(struct object *o, char kind)
{
	if (!o || o->kind != kind || o->dead) {
		count('x', 1);
		return INVALID_HANDLE;
	}
	o->dead = 1;
	count(kind, -1);
	return SUCCESS;
}

__attribute__((constructor)) static void start(void)
{
	const char *all = getenv("FAKE_CUDA_FAIL"), *arch = getenv("FAKE_CUDA_SM");
	char name[64];
	int code;
	if (all && sscanf(all, "%63[^=]=%d", name, &code) == 2)
		fake_fail(name, code, 0, 1000000);
	if (arch)
		sm = atoi(arch);
}

/* As the real one does, it tells names before cuInit, too. */
int cuGetErrorName(int code, const char **name)
{
	static const struct { int code; const char *name; } names[] = {
		{ 1, "CUDA_ERROR_INVALID_VALUE" },
		{ 2, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ 3, "CUDA_ERROR_NOT_INITIALIZED" },
		{ 100, "CUDA_ERROR_NO_DEVICE" },
		{ 201, "CUDA_ERROR_INVALID_CONTEXT" },
		{ 218, "CUDA_ERROR_INVALID_PTX" },
		{ 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" },
		{ 999, "CUDA_ERROR_UNKNOWN" },
	};
	*name = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].code == code)
			*name = names[i].name;
	return *name ? SUCCESS : INVALID_VALUE;
}

int cuInit(unsigned flags)
{
	int failed = fault(__func__);
	if (failed)
		return failed;
	initialised = 1;
	return flags ? INVALID_VALUE : SUCCESS;
}

int cuDriverGetVersion(int *v) { *v = 11080; return fault(__func__); }
int cuDeviceGetCount(int *n) { ENTER; *n = 1; return SUCCESS; }
int cuDeviceGet(int *d, int i) { ENTER; *d = i; return i ? INVALID_DEVICE : SUCCESS; }
int cuDeviceGetName(char *to, int n, int d) { ENTER; snprintf(to, n, "Fake GPU"); return d ? INVALID_DEVICE : SUCCESS; }
int cuDeviceGetPCIBusId(char *to, int n, int d) { ENTER; snprintf(to, n, "0000:01:00.0"); return d ? INVALID_DEVICE : SUCCESS; }
int cuDeviceTotalMem_v2(size_t *n, int d) { ENTER; *n = 1 << 30; return d ? INVALID_DEVICE : SUCCESS; }

int cuDeviceGetAttribute(int *v, int a, int d)
{
	ENTER;
	*v = a == 75 ? sm / 10 : a == 76 ? sm % 10 : a == 10 ? 32 : 1024;
	return d ? INVALID_DEVICE : SUCCESS;
}

int cuDevicePrimaryCtxRetain(struct object **c, int d)
{
	ENTER;
	if (d)
		return INVALID_DEVICE;
	pthread_mutex_lock(&mutex);
	counts['c'] += !primary_uses++;
	primary.dead = 0;
	pthread_mutex_unlock(&mutex);
	*c = &primary;
	return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int d)
{
	ENTER;
	(void)d;
	pthread_mutex_lock(&mutex);
	int last = primary_uses > 0 && !--primary_uses;
	counts['c'] -= last;
	primary.dead = last;
	pthread_mutex_unlock(&mutex);
	return SUCCESS;
}

int cuCtxCreate_v2(struct object **c, unsigned flags, int d)
{
	ENTER;
	(void)flags;
	if (d)
		return INVALID_DEVICE;
	*c = stack[depth++] = make('c');
	return SUCCESS;
}

int cuCtxDestroy_v2(struct object *c) { ENTER; return end(c, 'c'); }

int cuCtxPushCurrent_v2(struct object *c)
{
	ENTER;
	if (!c || c->kind != 'c')
		return INVALID_CONTEXT;
	if (c->dead)
		return CONTEXT_IS_DESTROYED;
	stack[depth++] = c;
	return SUCCESS;
}

int cuCtxPopCurrent_v2(struct object **c)
{
	ENTER;
	if (!depth)
		return INVALID_CONTEXT;
	*c = stack[--depth];
	return SUCCESS;
}

int cuCtxGetCurrent(struct object **c) { ENTER; *c = depth ? stack[depth - 1] : NULL; return SUCCESS; }
int cuCtxGetDevice(int *d) { CURRENT; *d = 0; return SUCCESS; }
int cuCtxSynchronize(void) { CURRENT; return SUCCESS; }

static const unsigned char *elf = (const unsigned char *)"\x7f" "ELF";

/* Writes to the log buffer that an option (5: errors, 3: information) names. */
static void say(unsigned n, const int *names, void **values, int option, const char *text)
{
	for (unsigned i = 0; i < n; i++)
		if (names[i] == option)
			strcpy(values[i], text);
}

int cuModuleLoadDataEx(struct object **m, const char *image, unsigned n, int *names, void **values)
{
	CURRENT;
	size_t size = strlen(image);
	if (!memcmp(image, elf, 4)) {
		uint16_t machine, sections;
		uint32_t flags;
		uint64_t at;
		memcpy(&machine, image + 18, 2);
		memcpy(&at, image + 40, 8);
		memcpy(&flags, image + 48, 4);
		memcpy(&sections, image + 60, 2);
		if (machine != 190)
			return INVALID_IMAGE;
		if ((int)(flags & 255) / 10 != sm / 10)
			return NO_BINARY;
		size = at + 64 * sections; /* all else is before */
	} else if (!strstr(image, ".version") || strstr(image, "BROKEN")) {
		say(n, names, values, 5, "ptxas fatal: this is BROKEN");
		return INVALID_PTX;
	} else {
		say(n, names, values, 3, "ptxas info: compiled");
	}
	*m = make('m');
	(*m)->data = malloc(size);
	memcpy((*m)->data, image, size);
	(*m)->size = size;
	return SUCCESS;
}

int cuModuleUnload(struct object *m) { CURRENT; return end(m, 'm'); }

/* A name such as params_8_4 tells the sizes of a kernel's parameters. */
int cuModuleGetFunction(struct function **f, struct object *m, const char *name)
{
	CURRENT;
	if (m->kind != 'm' || m->dead)
		return INVALID_HANDLE;
	if (!memmem(m->data, m->size, name, strlen(name)))
		return NOT_FOUND;
	*f = calloc(1, sizeof(**f));
	(*f)->module = m;
	snprintf((*f)->name, sizeof((*f)->name), "%s", name);
	if (!strncmp(name, "params_", 7))
		for (const char *p = strchr(name, '_'); p; p = strchr(p + 1, '_'))
			(*f)->sizes[(*f)->params++] = atoi(p + 1);
	pthread_mutex_lock(&mutex);
	(*f)->next = functions;
	functions = *f;
	pthread_mutex_unlock(&mutex);
	return SUCCESS;
}

int cuModuleGetGlobal_v2(pointer *p, size_t *n, struct object *m, const char *name)
{
	CURRENT;
	char *at = memmem(m->data, m->size, name, strlen(name));
	*p = (pointer)(uintptr_t)at;
	*n = 4;
	return at ? SUCCESS : NOT_FOUND;
}

int cuFuncGetAttribute(int *v, int a, struct function *f) { CURRENT; *v = a + (f == NULL); return SUCCESS; }
int cuFuncSetAttribute(struct function *f, int a, int v) { CURRENT; return a == 8 && v >= 0 && f ? SUCCESS : INVALID_VALUE; }

#ifndef OLD
int cuDeviceGetUuid(unsigned char *to, int d)
{
	ENTER;
	for (int i = 0; i < 16; i++)
		to[i] = i;
	return d ? INVALID_DEVICE : SUCCESS;
}

int cuFuncGetParamInfo(struct function *f, size_t i, size_t *offset, size_t *size)
{
	CURRENT;
	if (strncmp(f->name, "params_", 7) != 0)
		return 801; /* it does not tell of the others */
	if (i >= (size_t)f->params)
		return INVALID_VALUE;
	*offset = 0;
	*size = f->sizes[i];
	return SUCCESS;
}

/* A link's cubin is an ELF header with the PTX behind it. */
int cuLinkCreate_v2(unsigned n, int *names, void **values, struct object **l)
{
	CURRENT;
	*l = make('l');
	(*l)->data = calloc(1, 64);
	(*l)->size = 64;
	memcpy((*l)->data, elf, 4);
	(*l)->data[4] = 2;
	(*l)->data[18] = (char)190;
	(*l)->data[48] = sm;
	say(n, names, values, 3, "linked");
	return SUCCESS;
}

int cuLinkAddData_v2(struct object *l, int kind, const char *data, size_t size, const char *name, unsigned n, int *names, void **values)
{
	CURRENT;
	(void)n;
	(void)names;
	(void)values;
	if (kind != 1 || size == 0 || data[size - 1] || !name || l->dead)
		return INVALID_VALUE;
	if (!strstr(data, ".version") || strstr(data, "BROKEN"))
		return INVALID_PTX;
	l->data = realloc(l->data, l->size + size);
	memcpy(l->data + l->size, data, size);
	l->size += size;
	return SUCCESS;
}

int cuLinkComplete(struct object *l, void **cubin, size_t *size)
{
	CURRENT;
	uint64_t at = l->size; /* "section headers" end the file */
	memcpy(l->data + 40, &at, 8);
	*cubin = l->data;
	*size = l->size;
	return SUCCESS;
}

int cuLinkDestroy(struct object *l) { CURRENT; return end(l, 'l'); }
#endif

int cuMemAlloc_v2(pointer *p, size_t n)
{
	CURRENT;
	if (n > 1 << 30)
		return OUT_OF_MEMORY;
	*p = (pointer)(uintptr_t)malloc(n);
	count('p', 1);
	return SUCCESS;
}

int cuMemFree_v2(pointer p) { CURRENT; free((void *)(uintptr_t)p); count('p', -1); return SUCCESS; }
int cuMemGetInfo_v2(size_t *f, size_t *t) { CURRENT; *f = 1 << 29; *t = 1 << 30; return SUCCESS; }
int cuMemcpyHtoDAsync_v2(pointer to, const void *from, size_t n, void *s) { CURRENT; (void)s; memcpy((void *)(uintptr_t)to, from, n); return SUCCESS; }
int cuMemcpyDtoHAsync_v2(void *to, pointer from, size_t n, void *s) { CURRENT; (void)s; memcpy(to, (void *)(uintptr_t)from, n); return SUCCESS; }
int cuMemcpyDtoDAsync_v2(pointer to, pointer from, size_t n, void *s) { CURRENT; (void)s; memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n); return SUCCESS; }
int cuMemsetD8Async(pointer p, unsigned char v, size_t n, void *s) { CURRENT; (void)s; memset((void *)(uintptr_t)p, v, n); return SUCCESS; }

int cuMemsetD32Async(pointer p, unsigned v, size_t n, void *s)
{
	CURRENT;
	(void)s;
	for (size_t i = 0; i < n; i++)
		((unsigned *)(uintptr_t)p)[i] = v;
	return SUCCESS;
}

int cuStreamCreate(struct object **s, unsigned flags) { CURRENT; (void)flags; *s = make('s'); return SUCCESS; }
int cuStreamDestroy_v2(struct object *s) { CURRENT; return end(s, 's'); }
int cuStreamSynchronize(struct object *s) { CURRENT; return s && s->dead ? INVALID_HANDLE : SUCCESS; }
int cuStreamQuery(struct object *s) { CURRENT; return s && s->dead ? INVALID_HANDLE : SUCCESS; }
int cuStreamWaitEvent(struct object *s, struct object *e, unsigned flags) { CURRENT; (void)s; return e->dead || flags ? INVALID_HANDLE : SUCCESS; }
int cuEventCreate(struct object **e, unsigned flags) { CURRENT; (void)flags; *e = make('e'); return SUCCESS; }
int cuEventDestroy_v2(struct object *e) { CURRENT; return end(e, 'e'); }
int cuEventRecord(struct object *e, struct object *s) { CURRENT; (void)s; return e->dead ? INVALID_HANDLE : SUCCESS; }
int cuEventQuery(struct object *e) { CURRENT; return e->dead ? INVALID_HANDLE : SUCCESS; }
int cuEventSynchronize(struct object *e) { CURRENT; return e->dead ? INVALID_HANDLE : SUCCESS; }
int cuEventElapsedTime(float *ms, struct object *a, struct object *b) { CURRENT; *ms = 1.5f; return a->dead || b->dead ? INVALID_HANDLE : SUCCESS; }

int cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **params, void **extra)
{
	CURRENT;
	(void)s;
	(void)shared;
	if (f->module->dead || extra)
		return INVALID_HANDLE;
	if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024)
		return INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	launched_size = 0;
	for (int i = 0; i < f->params; i++) {
		memcpy(launched + launched_size, params[i], f->sizes[i]);
		launched_size += f->sizes[i];
	}
	pthread_mutex_unlock(&mutex);
	return SUCCESS;
}
