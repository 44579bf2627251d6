/* kernels.c: kernels of programs that we know. */
#include "shim.h"

struct kernel {
	struct entry entry;
	struct program *program;
	struct shadow *shadow; /* NULL: the driver's own kernel */
	const ksf_field *info; /* what the shadow's message says of it, or NULL */
	uint64_t id;           /* to tell launches of; 0: none */
	uint64_t seed;         /* the hash of the name */
	char name[];
};

static struct table kernels;

static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *text != 0; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* Pinned, or NULL: none of ours. */
static struct kernel *kernel_get(cl_kernel handle) { return (struct kernel *)table_get(&kernels, handle); }

static void kernel_put(struct kernel *k)
{
	if (k == NULL || --k->entry.pins > 0)
		return;
	bool restored = k->shadow != NULL && !k->shadow->is_program;
	shadow_put(k->shadow);
	program_kernel_gone(k->program, restored);
	free(k);
}

/* What a shadow's message says of a kernel, or NULL. */
static const ksf_field *kernel_info(const struct shadow *s, const char *name)
{
	for (const ksf_field *f = s->kept->fields; f->tag != 0; f++)
		if (f->tag == KSF_KERNEL && f->data != NULL && strcmp(f->data, name) == 0)
			return f;
	return NULL;
}

/* Records a kernel of a program, made in the shadow unless that is NULL. The caller keeps its own pin and reference. */
static bool kernel_add(cl_kernel handle, struct program *p, struct shadow *s, const char *name)
{
	size_t n = strlen(name) + 1;
	struct kernel *k = calloc(1, sizeof(*k) + n);
	if (k == NULL)
		return false;
	*k = (struct kernel){
		.entry = {.key = handle, .pins = 1, .held = 1}, .program = p, .shadow = s, .seed = hash_text(name),
	};
	memcpy(k->name, name, n);
	if (s != NULL)
		k->info = kernel_info(s, name);
	/* The application's program lives as long as its kernels. */
	if (s != NULL && !s->is_program)
		next.clRetainProgram(handle_of(p));
	state_lock();
	struct kernel *stale = (struct kernel *)table_insert(&kernels, &k->entry);
	k->id = p->id;
	p->entry.pins++;
	p->kernels++;
	if (s != NULL)
		s->references++;
	state_unlock();
	kernel_put(stale);
	return true;
}

cl_kernel CL_API_CALL ks_clCreateKernel(cl_program program, const char *name, cl_int *code)
{
	struct program *p = program_get(program);
	if (p == NULL)
		return next.clCreateKernel(program, name, code);
	program_compile(p, false);
	struct shadow *s = program_shadow(p);
	cl_kernel handle = NULL;
	cl_int own = CL_SUCCESS;
	/* What is compiled has no kernels; of what is restored PoCL says something else. */
	if (s != NULL && s->is_object && name != NULL && device_is_pocl(s->devices[0]))
		own = CL_INVALID_KERNEL_NAME;
	else
		handle = next.clCreateKernel(s == NULL ? program : s->handle, name, code);
	if (handle != NULL && !kernel_add(handle, p, s, name) && s != NULL) {
		next.clReleaseKernel(handle);
		handle = NULL;
		own = CL_OUT_OF_HOST_MEMORY;
	}
	if (own != CL_SUCCESS && code != NULL)
		*code = own;
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

/* Makes a restored program's kernels in the build's order: drivers may have another, rusticl a new one each time. */
static cl_int create_listed(const struct shadow *s, cl_kernel *handles)
{
	cl_int code = CL_SUCCESS;
	cl_uint i = 0;
	for (const ksf_field *k = NULL; (k = next_kernel(s->kept, k)) != NULL; i++) {
		handles[i] = next.clCreateKernel(s->handle, k->data, &code);
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
	bool none = s != NULL && s->is_object && device_is_pocl(s->devices[0]);
	cl_uint n = 0, listed = 0;
	cl_int code = CL_SUCCESS;
	for (const ksf_field *k = NULL; s != NULL && (k = next_kernel(s->kept, k)) != NULL;)
		listed++;
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

cl_kernel CL_API_CALL ks_clCloneKernel(cl_kernel source, cl_int *code)
{
	struct kernel *k = kernel_get(source);
	cl_kernel handle = next.clCloneKernel(source, code);
	if (k != NULL && handle != NULL)
		kernel_adopt(handle, k->program, k->shadow);
	kernel_put(k);
	return handle;
}

cl_int CL_API_CALL ks_clRetainKernel(cl_kernel handle)
{
	cl_int code = next.clRetainKernel(handle);
	if (code == CL_SUCCESS)
		table_hold(&kernels, handle);
	return code;
}

cl_int CL_API_CALL ks_clReleaseKernel(cl_kernel handle)
{
	struct kernel *gone = NULL;
	state_lock();
	struct kernel *k = (struct kernel *)table_find(&kernels, handle);
	/* Out of the table before the driver can give its address to another. */
	if (k != NULL && --k->entry.held == 0) {
		table_remove(&kernels, &k->entry);
		gone = k;
	}
	state_unlock();
	cl_int code = next.clReleaseKernel(handle);
	kernel_put(gone);
	return code;
}

cl_int CL_API_CALL ks_clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t room, void *to, size_t *size_ret)
{
	struct kernel *k = what == CL_KERNEL_PROGRAM || what == CL_KERNEL_ATTRIBUTES ? kernel_get(handle) : NULL;
	const ksf_field *attributes = k == NULL || k->info == NULL ? NULL : &k->info[1];
	bool known = what == CL_KERNEL_ATTRIBUTES && attributes != NULL && attributes->tag == KSF_KERNEL_ATTRIBUTES;
	cl_int code = known ? answer_text(attributes, room, to, size_ret) : next.clGetKernelInfo(handle, what, room, to, size_ret);
	if (what == CL_KERNEL_PROGRAM && k != NULL && k->shadow != NULL && code == CL_SUCCESS && to != NULL) {
		cl_program own = handle_of(k->program);
		memcpy(to, &own, sizeof(own));
	}
	kernel_put(k);
	return code;
}

/* What is known of an argument of a kernel, with its type behind it; NULL: nothing. */
static const ksf_field *argument(const ksf_field *kernel, cl_uint index)
{
	const ksf_field *f = kernel == NULL ? NULL : kernel + 1;
	for (; f != NULL && (f->tag == KSF_KERNEL_ATTRIBUTES || f->tag == KSF_ARGUMENT || f->tag == KSF_ARGUMENT_TYPE); f++)
		if (f->tag == KSF_ARGUMENT && index-- == 0)
			return f[1].tag == KSF_ARGUMENT_TYPE ? f : NULL;
	return NULL;
}

static cl_int arg_info(const ksf_field *arg, cl_kernel_arg_info what, size_t room, void *to, size_t *size_ret)
{
	bool is_name = what == CL_KERNEL_ARG_NAME || what == CL_KERNEL_ARG_ADDRESS_QUALIFIER;
	const ksf_field *f = is_name ? arg : arg + 1;
	const cl_kernel_arg_type_qualifier qualifiers = arg->number;
	switch (what) {
	case CL_KERNEL_ARG_NAME:
	case CL_KERNEL_ARG_TYPE_NAME:
		return f->data == NULL ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : answer_text(f, room, to, size_ret);
	case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
	case CL_KERNEL_ARG_ACCESS_QUALIFIER:
		return f->detail == 0 ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : answer(&f->detail, sizeof(f->detail), room, to, size_ret);
	default:
		/* Nought is a qualifier too: that there is none shows in the others. */
		if (arg->data == NULL && arg->detail == 0)
			return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
		return answer(&qualifiers, sizeof(qualifiers), room, to, size_ret);
	}
}

cl_int CL_API_CALL ks_clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info what, size_t room, void *to,
	size_t *size_ret)
{
	bool asked = what >= CL_KERNEL_ARG_ADDRESS_QUALIFIER && what <= CL_KERNEL_ARG_NAME;
	struct kernel *k = asked ? kernel_get(handle) : NULL;
	const ksf_field *arg = k == NULL ? NULL : argument(k->info, index);
	cl_int code = arg == NULL ? next.clGetKernelArgInfo(handle, index, what, room, to, size_ret)
							  : arg_info(arg, what, room, to, size_ret);
	kernel_put(k);
	return code;
}

/* Which local sizes are used, for drivers that compile at launch. Each kind of launch is told once; one that was told
 * costs a look in two tables, and no memory. */

/* The largest global size for which PoCL makes code of its own for small grids. */
enum { SMALL_GRID = 65534 };

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static uint64_t signature(uint64_t seed, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local)
{
	bool moved = false, small = true;
	uint64_t h = mix(seed, dimensions);
	for (cl_uint i = 0; i < dimensions; i++) {
		moved = moved || (offset != NULL && offset[i] != 0);
		small = small && global[i] <= SMALL_GRID;
		h = mix(h, local != NULL ? local[i] : global[i]);
	}
	h = mix(h, (uint64_t)moved | (uint64_t)small << 1 | (uint64_t)(local != NULL) << 2);
	return h == 0 ? 1 : h;
}

/* An application that lets the driver choose may launch a new size each time. */
enum { MOST_LAUNCHES = 4096 };

/* Under the lock: whether it is to be told. At most half of the table's places are taken. */
static bool is_new(struct program *p, uint64_t h)
{
	enum { PLACES = 2 * MOST_LAUNCHES };
	if (p->launches == NULL)
		p->launches = calloc(PLACES, sizeof(*p->launches));
	if (p->launches == NULL)
		return false;
	size_t at = h % PLACES;
	while (p->launches[at] != 0 && p->launches[at] != h)
		at = (at + 1) % PLACES;
	if (p->launches[at] == h || p->nlaunches == MOST_LAUNCHES)
		return false;
	p->launches[at] = h;
	p->nlaunches++;
	return true;
}

static void tell_launch(const struct kernel *k, cl_uint dimensions, const size_t *offset, const size_t *global,
	const size_t *local)
{
	struct message m = {0};
	size_t sizes[3][3];
	message_add(&m, (ksf_field){.tag = KSF_LAUNCHED, .number = k->id, .data = k->name, .size = strlen(k->name)});
	for (cl_uint i = 0; i < dimensions; i++) {
		sizes[i][0] = offset == NULL ? 0 : offset[i];
		sizes[i][1] = global[i];
		sizes[i][2] = local == NULL ? 0 : local[i];
		message_add(&m, (ksf_field){.tag = KSF_SIZES, .data = sizes[i], .size = sizeof(sizes[i])});
	}
	library_told(&m);
}

void kernel_launched(cl_kernel handle, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local)
{
	if (dimensions < 1 || dimensions > 3 || global == NULL)
		return;
	struct kernel *k = kernel_get(handle);
	if (k != NULL && k->id != 0) {
		uint64_t h = signature(k->seed, dimensions, offset, global, local);
		state_lock();
		bool told = !is_new(k->program, h);
		state_unlock();
		if (!told)
			tell_launch(k, dimensions, offset, global, local);
	}
	kernel_put(k);
}

cl_int CL_API_CALL ks_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
	const size_t *global, const size_t *local, cl_uint nevents, const cl_event *events, cl_event *event)
{
	kernel_launched(kernel, dimensions, offset, global, local);
	return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, nevents, events, event);
}

cl_int CL_API_CALL ks_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint nevents, const cl_event *events,
	cl_event *event)
{
	static const size_t one = 1;
	kernel_launched(kernel, 1, NULL, &one, &one);
	return next.clEnqueueTask(queue, kernel, nevents, events, event);
}
