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

/* Of a record that is out of the table. */
static void kernel_end(struct kernel *k)
{
	atomic_fetch_sub(&count, 1);
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
	if (s != NULL && !s->is_program)
		next.clRetainProgram(handle_of(p));
	state_lock();
	atomic_fetch_add(&count, 1);
	struct kernel *stale = (struct kernel *)table_insert(&kernels, &k->entry);
	k->id = p->id;
	p->pins++;
	p->kernels++;
	if (s != NULL)
		s->references++;
	state_unlock();
	if (stale != NULL)
		kernel_end(stale);
	return true;
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

/* Makes the kernels of a restored program, which the build gave in another order than some
 * drivers do now: Mesa's rusticl has a new one each time. */
static cl_int create_listed(const struct shadow *s, cl_kernel *handles)
{
	cl_int code = CL_SUCCESS;
	for (uint32_t i = 0; i < s->artifacts[0].nkernels; i++) {
		handles[i] = next.clCreateKernel(s->handle, s->artifacts[0].kernels[i].name.data, &code);
		if (handles[i] != NULL)
			continue;
		while (i > 0)
			next.clReleaseKernel(handles[--i]);
		return code != CL_SUCCESS ? code : CL_OUT_OF_HOST_MEMORY;
	}
	return CL_SUCCESS;
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
	uint32_t listed = s == NULL ? 0 : s->artifacts[0].nkernels;
	cl_int code = CL_SUCCESS;
	if (listed > 0 && handles != NULL && room >= listed) {
		code = create_listed(s, handles);
		n = listed;
	} else if (!none) {
		code = next.clCreateKernelsInProgram(s == NULL ? program : s->handle, room, handles, &n);
	}
	if (code == CL_SUCCESS) {
		for (cl_uint i = 0; handles != NULL && i < n; i++)
			kernel_adopt(handles[i], p, s);
		if (n_ret != NULL)
			*n_ret = n;
	}
	shadow_put(s);
	program_put(p);
	return code;
}

/* What a kernel is of, pinned. */
struct parents {
	struct program *program;
	struct shadow *shadow;          /* or NULL */
	const struct kernel_info *info; /* the shadow's, or NULL */
};

/* false: the kernel is not ours. */
static bool kernel_parents(cl_kernel handle, struct parents *of)
{
	if (!kernels_exist())
		return false;
	state_lock();
	struct kernel *k = kernel_find(handle);
	if (k != NULL) {
		*of = (struct parents){k->program, k->shadow, k->info};
		k->program->pins++;
		if (k->shadow != NULL)
			k->shadow->references++;
	}
	state_unlock();
	return k != NULL;
}

static void parents_put(struct parents *of)
{
	shadow_put(of->shadow);
	program_put(of->program);
}

cl_kernel CL_API_CALL ks_clCloneKernel(cl_kernel source, cl_int *code)
{
	struct parents of;
	bool known = kernel_parents(source, &of);
	cl_kernel handle = next.clCloneKernel(source, code);
	if (!known)
		return handle;
	if (handle != NULL)
		kernel_adopt(handle, of.program, of.shadow);
	parents_put(&of);
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
		if (k != NULL && --k->held == 0) {
			table_remove(&kernels, &k->entry);
			gone = k;
		}
		state_unlock();
	}
	cl_int code = next.clReleaseKernel(handle);
	if (gone != NULL)
		kernel_end(gone);
	return code;
}

cl_int CL_API_CALL ks_clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t room, void *to, size_t *size_ret)
{
	struct parents of;
	if ((what != CL_KERNEL_PROGRAM && what != CL_KERNEL_ATTRIBUTES) || !kernel_parents(handle, &of))
		return next.clGetKernelInfo(handle, what, room, to, size_ret);
	bool known = what == CL_KERNEL_ATTRIBUTES && of.info != NULL && of.info->attributes.data != NULL;
	cl_int code = known ? answer_text(of.info->attributes, room, to, size_ret)
						: next.clGetKernelInfo(handle, what, room, to, size_ret);
	if (what == CL_KERNEL_PROGRAM && of.shadow != NULL && code == CL_SUCCESS && to != NULL) {
		cl_program own = handle_of(of.program);
		memcpy(to, &own, sizeof(own));
	}
	parents_put(&of);
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
	struct parents of;
	if (what < CL_KERNEL_ARG_ADDRESS_QUALIFIER || what > CL_KERNEL_ARG_NAME || !kernel_parents(handle, &of))
		return next.clGetKernelArgInfo(handle, index, what, room, to, size_ret);
	cl_int code = of.info == NULL || index >= of.info->nargs ? next.clGetKernelArgInfo(handle, index, what, room, to, size_ret)
															 : arg_info(&of.info->args[index], what, room, to, size_ret);
	parents_put(&of);
	return code;
}
