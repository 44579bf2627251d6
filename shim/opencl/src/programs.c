/* programs.c: the records of program objects, and the calls that make and end them. */
#include "shim.h"

static struct table programs;

cl_program handle_of(const struct program *p) { return (cl_program)p->entry.key; }

struct program *program_get(cl_program handle) { return (struct program *)table_get(&programs, handle); }

void program_put(struct program *p)
{
	if (p == NULL || --p->entry.pins > 0)
		return;
	for (struct constant *c = p->constants, *link; c != NULL; c = link) {
		link = c->link;
		free(c);
	}
	shadow_put(p->shadow);
	compiled_unuse(p->compiled);
	free(p->launches);
	free(p->devices);
	free(p);
}

struct program *program_add(cl_program handle, uint32_t kind, size_t length, const char *unknown)
{
	struct program *p = handle == NULL || in_own_call() ? NULL : calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	*p = (struct program){
		.entry = {.key = handle, .pins = 1, .held = 1}, .kind = kind, .length = length, .unknown = unknown,
	};
	state_lock();
	struct program *stale = (struct program *)table_insert(&programs, &p->entry);
	state_unlock();
	program_put(stale);
	return p;
}

/* Under the lock: takes a program that nobody holds out of the table. */
static bool given_up(struct program *p)
{
	if (p->entry.held > 0 || p->kernels > 0 || table_find(&programs, p->entry.key) != &p->entry)
		return false;
	table_remove(&programs, &p->entry);
	return true;
}

static void give_up(struct program *p)
{
	library_released(p->id);
	program_put(p); /* the table's pin */
}

void program_kernel_gone(struct program *p, bool restored)
{
	cl_program handle = handle_of(p);
	state_lock();
	p->kernels--;
	bool gone = given_up(p);
	state_unlock();
	if (gone)
		give_up(p);
	if (restored)
		next.clReleaseProgram(handle);
	program_put(p); /* the kernel's pin */
}

bool program_devices(struct program *p)
{
	cl_uint n = 0;
	if (p->ndevices > 0)
		return true;
	if (next.clGetProgramInfo(handle_of(p), CL_PROGRAM_NUM_DEVICES, sizeof(n), &n, NULL) != CL_SUCCESS || n == 0 || n > 64)
		return false;
	cl_device_id *devices = malloc(n * sizeof(*devices));
	bool good = devices != NULL &&
		next.clGetProgramInfo(handle_of(p), CL_PROGRAM_DEVICES, n * sizeof(*devices), devices, NULL) == CL_SUCCESS;
	state_lock();
	if (good && p->ndevices == 0) {
		p->devices = devices;
		p->ndevices = n;
		devices = NULL;
	}
	state_unlock();
	free(devices);
	return good;
}

int index_of(cl_device_id device, cl_uint n, const cl_device_id *devices)
{
	for (cl_uint i = 0; i < n; i++)
		if (devices[i] == device)
			return (int)i;
	return -1;
}

cl_device_id program_device(const struct program *p, cl_device_id device)
{
	if (index_of(device, p->ndevices, p->devices) >= 0)
		return device;
	/* PoCL's contexts and programs belong to whole devices, whatever parts they were made for; builds ask for parts. */
	if (p->ndevices == 0 || !device_is_pocl(p->devices[0]))
		return NULL;
	while (device != NULL && index_of(device, p->ndevices, p->devices) < 0) {
		cl_device_id parent = NULL;
		if (next.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL) != CL_SUCCESS)
			return NULL;
		device = parent;
	}
	return device;
}

uint64_t program_set(const struct program *p, cl_uint n, const cl_device_id *devices)
{
	uint64_t set = 0;
	for (cl_uint i = 0; i < n; i++) {
		cl_device_id device = program_device(p, devices[i]);
		int at = device == NULL ? -1 : index_of(device, p->ndevices, p->devices);
		/* Parts of one device are no repetition. */
		if (at < 0 || ((set & UINT64_C(1) << at) != 0 && device == devices[i]))
			return 0;
		set |= UINT64_C(1) << at;
	}
	return set;
}

cl_uint program_list(const struct program *p, cl_uint n, const cl_device_id *devices, cl_device_id *list)
{
	cl_uint m = 0;
	for (cl_uint i = 0; i < n; i++) {
		cl_device_id device = program_device(p, devices[i]);
		if (index_of(device, m, list) < 0)
			list[m++] = device;
	}
	return m;
}

struct shadow *program_shadow(struct program *p)
{
	state_lock();
	struct shadow *s = p->shadow;
	if (s != NULL)
		s->references++;
	state_unlock();
	return s;
}

void program_set_shadow(struct program *p, struct shadow *s, uint64_t id)
{
	state_lock();
	struct shadow *old = p->shadow;
	uint64_t old_id = p->id;
	p->shadow = s;
	p->id = id;
	p->nlaunches = 0;
	free(p->launches);
	p->launches = NULL;
	state_unlock();
	shadow_put(old);
	library_released(old_id);
}

void program_taken_over(struct program *p)
{
	program_set_shadow(p, NULL, 0);
	p->built = UINT64_MAX;
}

/* Settles what the program was restored from, once: by a build, or never. */
static bool build_late(struct program *p, bool never)
{
	struct shadow *s = program_shadow(p);
	if (s == NULL || s->is_program || s->is_object) {
		shadow_put(s);
		return true;
	}
	state_claim(&s->building_late);
	if (!s->late_done && !never) {
		struct arithmetic before;
		library_default_arithmetic(&before); /* as it was when it was restored */
		s->built_well = driver_build(handle_of(p), s->ndevices, s->devices, s->options, NULL, NULL) == CL_SUCCESS;
		library_arithmetic_back(&before);
		p->built |= program_set(p, s->ndevices, s->devices);
	}
	s->late_done = true;
	bool good = s->built_well;
	state_release(&s->building_late);
	shadow_put(s);
	return good;
}

bool program_build_late(struct program *p) { return build_late(p, false); }

cl_uint programs_restored(cl_context context)
{
	cl_uint n = 0;
	state_lock();
	for (size_t i = 0; i < TABLE_HEADS; i++) {
		for (const struct entry *e = programs.heads[i]; e != NULL; e = e->link) {
			const struct shadow *s = ((const struct program *)e)->shadow;
			n += s != NULL && s->context == context;
		}
	}
	state_unlock();
	return n;
}

/* The calls. */

cl_program CL_API_CALL ks_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
	const size_t *lengths, cl_int *code)
{
	cl_program handle = next.clCreateProgramWithSource(context, count, strings, lengths, code);
	if (handle == NULL)
		return NULL;
	const char *unknown = NULL;
	size_t length = 0;
	for (cl_uint i = 0; i < count; i++) {
		size_t n = lengths == NULL || lengths[i] == 0 ? strlen(strings[i]) : lengths[i];
		/* What a driver makes of these is its own affair. */
		if (lengths != NULL && lengths[i] != 0 && memchr(strings[i], 0, n) != NULL)
			unknown = "source with NUL bytes";
		length += n;
	}
	program_add(handle, KSF_OPENCL_C, length, unknown);
	return handle;
}

cl_program program_with_il(with_il_fn driver, cl_context context, const void *il, size_t length, cl_int *code)
{
	uint32_t magic = 0;
	library_compiles(true); /* some may */
	cl_program handle = driver(context, il, length, code);
	library_compiles(false);
	if (handle != NULL && length >= sizeof(magic)) /* else the driver has refused what may be NULL */
		memcpy(&magic, il, sizeof(magic));
	bool spirv = magic == 0x07230203 || magic == 0x03022307;
	program_add(handle, KSF_SPIRV, length, spirv ? NULL : "intermediate language");
	return handle;
}

cl_program CL_API_CALL ks_clCreateProgramWithIL(cl_context context, const void *il, size_t length, cl_int *code)
{
	return program_with_il(next.clCreateProgramWithIL, context, il, length, code);
}

cl_program CL_API_CALL ks_clCreateProgramWithBinary(cl_context context, cl_uint n, const cl_device_id *devices,
	const size_t *lengths, const unsigned char **binaries, cl_int *status, cl_int *code)
{
	cl_program handle = next.clCreateProgramWithBinary(context, n, devices, lengths, binaries, status, code);
	program_add(handle, 0, 0, "binary");
	return handle;
}

cl_program CL_API_CALL ks_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint n, const cl_device_id *devices,
	const char *names, cl_int *code)
{
	cl_program handle = next.clCreateProgramWithBuiltInKernels(context, n, devices, names, code);
	program_add(handle, 0, 0, "built-in kernels");
	return handle;
}

cl_int CL_API_CALL ks_clRetainProgram(cl_program handle)
{
	cl_int code = next.clRetainProgram(handle);
	if (code == CL_SUCCESS)
		table_hold(&programs, handle);
	return code;
}

cl_int CL_API_CALL ks_clReleaseProgram(cl_program handle)
{
	bool gone = false;
	state_lock();
	struct program *p = (struct program *)table_find(&programs, handle);
	if (p != NULL && p->entry.held > 0) {
		p->entry.held--;
		gone = given_up(p);
	}
	state_unlock();
	cl_int code = next.clReleaseProgram(handle);
	if (gone)
		give_up(p);
	return code;
}

cl_int CL_API_CALL ks_clSetProgramSpecializationConstant(cl_program handle, cl_uint id, size_t size, const void *value)
{
	struct program *p = value == NULL ? NULL : program_get(handle);
	if (p == NULL)
		return next.clSetProgramSpecializationConstant(handle, id, size, value);
	/* What was compiled, or built, is of the values before. */
	int cancel = library_uncancelled();
	program_compile(p, false);
	if (program_devices(p) && p->ndevices > 1)
		program_build_late(p); /* a part of it may be built again */
	cl_int code = next.clSetProgramSpecializationConstant(handle, id, size, value);
	library_cancelled(cancel);
	if (code != CL_SUCCESS) {
		program_put(p);
		return code;
	}
	/* What is compiled from now on is another unit. */
	program_compile(p, true);
	build_late(p, true); /* the driver would build another program from now on */
	struct constant *c = malloc(sizeof(*c) + size);
	state_lock();
	if (c == NULL) {
		p->unknown = "out of memory";
	} else {
		/* The last one set is the first found. */
		*c = (struct constant){.link = p->constants, .id = id, .size = size};
		memcpy(c->value, value, size);
		p->constants = c;
	}
	state_unlock();
	program_put(p);
	return code;
}
