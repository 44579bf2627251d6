/* kernels.c: kernels of programs that we know. */
#include "shim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct table kernels;
static atomic_size_t count;

bool kernels_exist(void) { return atomic_load_explicit(&count, memory_order_relaxed) != 0; }

struct kernel *kernel_find(cl_kernel handle) { return (struct kernel *)table_find(&kernels, handle); }

static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *text != 0; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* Under the lock: drops a record, and says what to release. */
static struct kernel *kernel_take(struct kernel *k)
{
	table_remove(&kernels, &k->entry);
	atomic_fetch_sub(&count, 1);
	return k;
}

static void kernel_end(struct kernel *k)
{
	bool restored = k->shadow != NULL && !k->shadow->is_program;
	shadow_put(k->shadow);
	program_kernel_gone(k->program, restored);
	free(k);
}

/* Records a kernel of a program; the shadow is the one it was made in, or NULL.
 * The caller keeps its own pin and reference. */
static bool kernel_add(cl_kernel handle, struct program *p, struct shadow *s, const char *name)
{
	size_t n = strlen(name) + 1;
	struct kernel *k = calloc(1, sizeof(*k) + n);
	if (k == NULL)
		return false;
	k->entry.key = handle;
	k->program = p;
	k->shadow = s;
	k->held = 1;
	k->seed = hash_text(name);
	memcpy(k->name, name, n);
	if (s != NULL)
		k->info = shadow_kernel(s, name);
	/* The application's program lives as long as its kernels. */
	bool retained = s != NULL && !s->is_program;
	if (retained)
		next.clRetainProgram(handle_of(p));
	state_lock();
	struct kernel *stale = kernel_find(handle);
	if (stale != NULL)
		kernel_take(stale);
	bool in = table_insert(&kernels, &k->entry);
	if (in) {
		atomic_fetch_add(&count, 1);
		k->id = p->id;
		p->pins++;
		p->kernels++;
		if (s != NULL)
			s->references++;
	}
	state_unlock();
	if (stale != NULL)
		kernel_end(stale);
	if (!in) {
		if (retained)
			next.clReleaseProgram(handle_of(p));
		free(k);
	}
	return in;
}

cl_kernel CL_API_CALL ks_clCreateKernel(cl_program program, const char *name, cl_int *code)
{
	struct program *p = program_get(program);
	if (p == NULL)
		return next.clCreateKernel(program, name, code);
	program_compile(p, false);
	struct shadow *s = program_shadow(p);
	if (s != NULL && s->is_object && name != NULL && device_is_pocl(s->devices[0])) {
		/* What is compiled has no kernels; of what is restored it says something else. */
		if (code != NULL)
			*code = CL_INVALID_KERNEL_NAME;
		shadow_put(s);
		program_put(p);
		return NULL;
	}
	cl_kernel handle = next.clCreateKernel(s == NULL ? program : s->handle, name, code);
	if (handle != NULL && !kernel_add(handle, p, s, name) && s != NULL) {
		next.clReleaseKernel(handle);
		handle = NULL;
		if (code != NULL)
			*code = CL_OUT_OF_HOST_MEMORY;
	}
	shadow_put(s);
	program_put(p);
	return handle;
}

/* Records a kernel that the driver named. */
static bool kernel_adopt(cl_kernel handle, struct program *p, struct shadow *s)
{
	char name[4096] = "";
	next.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
	return kernel_add(handle, p, s, name);
}

/* Whether the driver lists the kernels of what it was given as it did after the build. */
static bool listed_alike(const struct shadow *s, const struct artifact *a)
{
	size_t size;
	char *names = program_text(s->handle, CL_PROGRAM_KERNEL_NAMES, &size);
	const char *at = names;
	bool alike = names != NULL;
	for (uint32_t i = 0; alike && i < a->nkernels; i++) {
		const struct bytes *name = &a->kernels[i].name;
		alike = strncmp(at, name->data, name->size) == 0 && at[name->size] == (i + 1 < a->nkernels ? ';' : 0);
		at += name->size + 1;
	}
	free(names);
	return alike;
}

/* Puts the kernels of a restored program in the order in which the build gave them: Mesa's
 * rusticl has another one each time. */
static void kernels_sort(const struct shadow *s, cl_uint n, cl_kernel *handles)
{
	const struct artifact *a = &s->artifacts[0];
	if (a->nkernels != n || n < 2 || listed_alike(s, a))
		return;
	for (cl_uint i = 0; i < n; i++) {
		const struct bytes *wanted = &a->kernels[i].name;
		for (cl_uint j = i; j < n; j++) {
			char name[4096] = "";
			next.clGetKernelInfo(handles[j], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
			if (strlen(name) != wanted->size || memcmp(name, wanted->data, wanted->size) != 0)
				continue;
			cl_kernel found = handles[j];
			handles[j] = handles[i];
			handles[i] = found;
			break;
		}
	}
}

cl_int CL_API_CALL ks_clCreateKernelsInProgram(cl_program program, cl_uint room, cl_kernel *handles, cl_uint *n_ret)
{
	struct program *p = program_get(program);
	if (p == NULL)
		return next.clCreateKernelsInProgram(program, room, handles, n_ret);
	program_compile(p, false);
	struct shadow *s = program_shadow(p);
	cl_uint n = 0;
	bool none = s != NULL && s->is_object && device_is_pocl(s->devices[0]);
	cl_int code = none ? CL_SUCCESS : next.clCreateKernelsInProgram(s == NULL ? program : s->handle, room, handles, &n);
	if (code == CL_SUCCESS) {
		if (s != NULL && handles != NULL)
			kernels_sort(s, n, handles);
		for (cl_uint i = 0; handles != NULL && i < n; i++)
			kernel_adopt(handles[i], p, s);
		if (n_ret != NULL)
			*n_ret = n;
	}
	shadow_put(s);
	program_put(p);
	return code;
}

/* A kernel's program and shadow, pinned; false: not ours. */
static bool kernel_parents(cl_kernel handle, struct program **p, struct shadow **s)
{
	if (!kernels_exist())
		return false;
	state_lock();
	struct kernel *k = kernel_find(handle);
	if (k != NULL) {
		*p = k->program;
		*s = k->shadow;
		(*p)->pins++;
		if (*s != NULL)
			(*s)->references++;
	}
	state_unlock();
	return k != NULL;
}

cl_kernel CL_API_CALL ks_clCloneKernel(cl_kernel source, cl_int *code)
{
	struct program *p;
	struct shadow *s;
	if (!kernel_parents(source, &p, &s))
		return next.clCloneKernel(source, code);
	cl_kernel handle = next.clCloneKernel(source, code);
	if (handle != NULL)
		kernel_adopt(handle, p, s);
	shadow_put(s);
	program_put(p);
	return handle;
}

cl_int CL_API_CALL ks_clRetainKernel(cl_kernel handle)
{
	cl_int code = next.clRetainKernel(handle);
	if (code == CL_SUCCESS && kernels_exist()) {
		state_lock();
		struct kernel *k = kernel_find(handle);
		if (k != NULL)
			k->held++;
		state_unlock();
	}
	return code;
}

cl_int CL_API_CALL ks_clReleaseKernel(cl_kernel handle)
{
	struct kernel *gone = NULL;
	if (kernels_exist()) {
		state_lock();
		struct kernel *k = kernel_find(handle);
		/* Out of the table before the driver can give its address to another. */
		if (k != NULL && --k->held == 0)
			gone = kernel_take(k);
		state_unlock();
	}
	cl_int code = next.clReleaseKernel(handle);
	if (gone != NULL)
		kernel_end(gone);
	return code;
}

cl_int CL_API_CALL ks_clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t room, void *to, size_t *size_ret)
{
	struct program *p;
	struct shadow *s;
	if ((what != CL_KERNEL_PROGRAM && what != CL_KERNEL_ATTRIBUTES) || !kernel_parents(handle, &p, &s))
		return next.clGetKernelInfo(handle, what, room, to, size_ret);
	cl_int code;
	const struct kernel_info *info = NULL;
	if (what == CL_KERNEL_ATTRIBUTES && s != NULL) {
		state_lock();
		struct kernel *k = kernel_find(handle);
		info = k == NULL ? NULL : k->info;
		state_unlock();
	}
	if (info != NULL && info->attributes.data != NULL) {
		code = answer_text(info->attributes, room, to, size_ret);
	} else {
		code = next.clGetKernelInfo(handle, what, room, to, size_ret);
		if (what == CL_KERNEL_PROGRAM && s != NULL && code == CL_SUCCESS && to != NULL) {
			cl_program own = handle_of(p);
			memcpy(to, &own, sizeof(own));
		}
	}
	shadow_put(s);
	program_put(p);
	return code;
}

static cl_int arg_info(const struct arg_info *arg, cl_kernel_arg_info what, size_t room, void *to, size_t *size_ret)
{
	cl_uint number;
	cl_kernel_arg_type_qualifier qualifiers;
	switch (what) {
	case CL_KERNEL_ARG_NAME:
		return arg->name.data == NULL ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : answer_text(arg->name, room, to, size_ret);
	case CL_KERNEL_ARG_TYPE_NAME:
		return arg->type.data == NULL ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : answer_text(arg->type, room, to, size_ret);
	case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
	case CL_KERNEL_ARG_ACCESS_QUALIFIER:
		number = what == CL_KERNEL_ARG_ADDRESS_QUALIFIER ? arg->address : arg->access;
		return number == 0 ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : answer(&number, sizeof(number), room, to, size_ret);
	default:
		/* Nought is a qualifier too: that there is none shows in the others. */
		if (arg->name.data == NULL && arg->address == 0)
			return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
		qualifiers = arg->qualifiers;
		return answer(&qualifiers, sizeof(qualifiers), room, to, size_ret);
	}
}

cl_int CL_API_CALL ks_clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info what, size_t room, void *to,
	size_t *size_ret)
{
	struct program *p;
	struct shadow *s;
	if (what < CL_KERNEL_ARG_ADDRESS_QUALIFIER || what > CL_KERNEL_ARG_NAME || !kernel_parents(handle, &p, &s))
		return next.clGetKernelArgInfo(handle, index, what, room, to, size_ret);
	state_lock();
	struct kernel *k = kernel_find(handle);
	const struct kernel_info *info = k == NULL ? NULL : k->info;
	state_unlock();
	cl_int code = info == NULL || index >= info->nargs ? next.clGetKernelArgInfo(handle, index, what, room, to, size_ret)
													   : arg_info(&info->args[index], what, room, to, size_ret);
	shadow_put(s);
	program_put(p);
	return code;
}
