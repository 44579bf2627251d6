/* shadow.c: what a shadow keeps of what it was made from, to answer queries; programs from binaries, and what they
 * change of contexts. */
#include "shim.h"

/* What is kept of a message, with a field of no tag at the end. Of an object, which the application may ask for, the
 * binary is the answer. NULL: no memory. */
static ksf_message *kept_of(const ksf_message *m, bool is_object)
{
	struct message kept = {0};
	for (size_t i = 0; i < m->count; i++) {
		ksf_field f = m->fields[i];
		if (f.tag == (is_object ? KSF_ANSWER : KSF_BINARY))
			continue;
		if (f.tag == KSF_BINARY)
			f.tag = KSF_ANSWER;
		message_add(&kept, f);
	}
	message_add(&kept, (ksf_field){0});
	ksf_message *copy = kept.failed ? NULL : message_copy(&(ksf_message){kept.fields, kept.count});
	message_free(&kept);
	return copy;
}

static void shadow_free(struct shadow *s)
{
	free(s->kept);
	free(s->options);
	free(s);
}

struct shadow *shadow_new(cl_program handle, cl_uint n, const cl_device_id *devices, const ksf_message *m,
	const char *options, bool is_object)
{
	struct shadow *s = malloc(sizeof(*s) + n * sizeof(*devices));
	if (s == NULL)
		return NULL;
	*s = (struct shadow){.handle = handle, .references = 1, .ndevices = n, .is_object = is_object};
	memcpy(s->devices, devices, n * sizeof(*devices));
	s->options = options == NULL ? NULL : strdup(options);
	s->kept = kept_of(m, is_object);
	if (s->kept == NULL || (options != NULL && s->options == NULL)) {
		shadow_free(s);
		return NULL;
	}
	return s;
}

void shadow_put(struct shadow *s)
{
	if (s == NULL || --s->references > 0)
		return;
	if (!s->is_program && s->handle != NULL)
		next.clReleaseProgram(s->handle);
	library_released(s->answers);
	shadow_free(s);
}

/* Whether the list "a;b" names the kernel. */
static bool listed(const char *list, const ksf_field *name)
{
	for (const char *at = list; name->data != NULL && at != NULL; at = strchr(at, ';'), at = at == NULL ? NULL : at + 1)
		if (strncmp(at, name->data, name->size) == 0 && (at[name->size] == ';' || at[name->size] == 0))
			return true;
	return false;
}

/* A binary that makes other kernels than were recorded is not the program's. */
static bool same_kernels(cl_program program, const ksf_message *m)
{
	size_t size, count = 0, recorded = 0;
	if (next_kernel(m, NULL) == NULL)
		return true;
	char *names = program_text(program, CL_PROGRAM_KERNEL_NAMES, &size);
	bool same = names != NULL &&
		next.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count, NULL) == CL_SUCCESS;
	for (const ksf_field *k = NULL; (k = next_kernel(m, k)) != NULL; recorded++)
		same = same && listed(names, k);
	free(names);
	return same && count == recorded;
}

bool blames_binary(cl_int code)
{
	return code == CL_INVALID_BINARY || code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_PROGRAM ||
		code == CL_INVALID_BUILD_OPTIONS || code == CL_INVALID_OPERATION || code == CL_COMPILER_NOT_AVAILABLE;
}

/* Whether the driver counts a context's programs among its references, as a shadow is a program of which
 * the application knows nothing: -1 while nothing is known. */
static atomic_int counted = -1;

static cl_uint references(cl_context context)
{
	cl_uint n = 0;
	if (next.clGetContextInfo == NULL ||
		next.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL) != CL_SUCCESS)
		return 0;
	return n;
}

cl_program of_binaries(cl_context context, cl_uint n, const cl_device_id *devices, const ksf_field *binaries, cl_int *status,
	cl_int *code)
{
	size_t sizes[64];
	const unsigned char *data[64];
	for (cl_uint i = 0; i < n; i++) {
		sizes[i] = binaries[i].size;
		data[i] = binaries[i].data;
		status[i] = CL_SUCCESS;
	}
	*code = CL_SUCCESS;
	cl_uint before = atomic_load(&counted) < 0 ? references(context) : 0;
	cl_program program = next.clCreateProgramWithBinary(context, n, devices, sizes, data, status, code);
	cl_uint after = before == 0 || program == NULL ? 0 : references(context);
	/* Another thread may have made a program meanwhile: then it shows at the next. */
	if (after != 0 && (after == before || after == before + 1))
		atomic_store(&counted, (int)(after - before));
	return program;
}

cl_int CL_API_CALL ks_clGetContextInfo(cl_context handle, cl_context_info what, size_t room, void *to, size_t *size_ret)
{
	cl_int code = next.clGetContextInfo(handle, what, room, to, size_ret);
	if (what != CL_CONTEXT_REFERENCE_COUNT || code != CL_SUCCESS || to == NULL || atomic_load(&counted) != 1)
		return code;
	cl_uint n, shadows = programs_restored(handle);
	memcpy(&n, to, sizeof(n));
	if (shadows < n)
		n -= shadows;
	memcpy(to, &n, sizeof(n));
	return code;
}

cl_program restore(cl_context context, cl_uint n, const cl_device_id *devices, const ksf_message *m,
	const char *options, struct message *results)
{
	ksf_field binaries[64] = {0};
	unsigned char *own[64] = {NULL};
	cl_int status[64] = {CL_SUCCESS}, code = CL_SUCCESS;
	cl_program program = NULL;
	bool unshared = pocl_cache() == POCL_CACHE_OFF && device_is_pocl(devices[0]), complete = true;

	for (cl_uint i = 0; i < n; i++) {
		binaries[i] = binary_of(m, i);
		if (unshared)
			binaries[i].data = own[i] = pocl_unshared(&binaries[i]);
		complete = complete && binaries[i].data != NULL;
	}
	uint64_t start = nanoseconds();
	if (complete)
		program = of_binaries(context, n, devices, binaries, status, &code);
	else
		layer_passed("POCL_KERNEL_CACHE=0, and a binary of another PoCL");
	for (cl_uint i = 0; i < n; i++)
		free(own[i]);
	bool good = program != NULL && code == CL_SUCCESS;
	if (good) {
		/* Of machine code nothing is compiled, and changing handlers takes 20 µs. */
		code = kind_of(m) == KSF_INTERMEDIATE ? driver_build(program, n, devices, options, NULL, NULL)
													 : next.clBuildProgram(program, n, devices, options, NULL, NULL);
		good = code == CL_SUCCESS;
		if (good)
			code = CL_INVALID_BINARY; /* if anything is wrong from here on */
		for (cl_uint i = 0; i < n; i++) {
			status[i] = build_status(program, devices[i]) == CL_BUILD_SUCCESS ? CL_SUCCESS : CL_INVALID_BINARY;
			good = good && status[i] == CL_SUCCESS;
		}
		good = good && same_kernels(program, m);
	}
	uint64_t took = nanoseconds() - start;
	bool blamed = false;
	for (cl_uint i = 0; i < n; i++)
		blamed = blamed || status[i] != CL_SUCCESS;
	for (cl_uint i = 0; i < n; i++) {
		bool refused = blames_binary(code) && (!blamed || status[i] != CL_SUCCESS);
		message_result(results, good ? KSF_RESTORED : refused ? KSF_REFUSED : KSF_ABANDONED, good ? CL_SUCCESS : code, took / n);
	}
	if (!good && program != NULL) {
		next.clReleaseProgram(program);
		program = NULL;
	}
	return program;
}
