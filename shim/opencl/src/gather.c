/* gather.c: what a build made: binaries, logs, kernels with their arguments; or why there is none. */
#include "shim.h"

void *program_text(cl_program program, cl_program_info what, size_t *size)
{
	size_t n = 0;
	if (next.clGetProgramInfo(program, what, 0, NULL, &n) != CL_SUCCESS)
		return NULL;
	char *text = malloc(n + 1);
	if (text == NULL || (n > 0 && next.clGetProgramInfo(program, what, n, text, NULL) != CL_SUCCESS)) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	*size = n;
	return text;
}

cl_build_status build_status(cl_program program, cl_device_id device)
{
	cl_build_status status = CL_BUILD_NONE;
	cl_int code = next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL);
	return code == CL_SUCCESS ? status : CL_BUILD_NONE;
}

static void add_log(struct message *m, cl_program program, cl_device_id device)
{
	size_t n = 0;
	if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n == 0)
		return;
	char *log = message_own(m, malloc(n + 1));
	if (log != NULL && next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, n, log, NULL) == CL_SUCCESS)
		message_add(m, (ksf_field){.tag = KSF_LOG, .data = log, .size = log[n - 1] == 0 ? n - 1 : n});
}

cl_int binary_sizes(cl_program program, cl_uint *n, cl_device_id *devices, size_t *sizes)
{
	cl_int code = next.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(*n), n, NULL);
	if (code == CL_SUCCESS && *n > 64)
		code = CL_OUT_OF_HOST_MEMORY;
	if (code == CL_SUCCESS)
		code = next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, *n * sizeof(*devices), devices, NULL);
	if (code == CL_SUCCESS)
		code = next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, *n * sizeof(*sizes), sizes, NULL);
	return code;
}

/* Asks for the binaries of some devices, in memory of the message's. */
static bool get_binaries(struct message *m, cl_program program, cl_uint n, const cl_device_id *devices, ksf_field *out)
{
	cl_uint all = 0;
	cl_device_id listed[64];
	size_t sizes[64];
	unsigned char *to[64] = {NULL};
	if (binary_sizes(program, &all, listed, sizes) != CL_SUCCESS)
		return false;
	for (cl_uint i = 0; i < n; i++) {
		int at = index_of(devices[i], all, listed);
		if (at < 0 || sizes[at] == 0 || to[at] != NULL)
			return false;
		to[at] = message_own(m, malloc(sizes[at]));
		if (to[at] == NULL)
			return false;
		out[i] = (ksf_field){.tag = KSF_BINARY, .data = to[at], .size = sizes[at]};
	}
	return next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, all * sizeof(to[0]), to, NULL) == CL_SUCCESS;
}

/* A string that a query of a kernel gives; NULL: it gives none. */
static const char *kernel_text(struct message *m, cl_kernel kernel, cl_uint arg, cl_uint what)
{
	size_t n = 0;
	bool attributes = what == CL_KERNEL_ATTRIBUTES;
	cl_int code = attributes ? next.clGetKernelInfo(kernel, what, 0, NULL, &n)
							 : next.clGetKernelArgInfo(kernel, arg, what, 0, NULL, &n);
	char *text = code != CL_SUCCESS || n == 0 ? NULL : message_own(m, calloc(1, n + 1));
	if (text == NULL)
		return NULL;
	code = attributes ? next.clGetKernelInfo(kernel, what, n, text, NULL) : next.clGetKernelArgInfo(kernel, arg, what, n, text, NULL);
	return code == CL_SUCCESS ? text : NULL;
}

static size_t length(const char *text) { return text == NULL ? 0 : strlen(text); }

static void add_args(struct message *m, cl_kernel kernel)
{
	cl_uint n = 0;
	if (next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL) != CL_SUCCESS)
		return;
	for (cl_uint i = 0; i < n; i++) {
		const char *name = NULL, *type = NULL;
		cl_uint address = 0, access = 0;
		cl_kernel_arg_type_qualifier qualifiers = 0;
		if (next.clGetKernelArgInfo != NULL) {
			name = kernel_text(m, kernel, i, CL_KERNEL_ARG_NAME);
			type = kernel_text(m, kernel, i, CL_KERNEL_ARG_TYPE_NAME);
			next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address, NULL);
			next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access), &access, NULL);
			next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(qualifiers), &qualifiers, NULL);
		}
		message_add(m, (ksf_field){.tag = KSF_ARGUMENT, .detail = address, .number = qualifiers, .data = name, .size = length(name)});
		message_add(m, (ksf_field){.tag = KSF_ARGUMENT_TYPE, .detail = access, .data = type, .size = length(type)});
	}
}

/* Adds a kernel, which the driver makes for that; false: it does not. */
static bool add_kernel(struct message *m, cl_program program, const char *name)
{
	cl_int code = CL_SUCCESS;
	cl_kernel kernel = next.clCreateKernel(program, name, &code);
	if (kernel == NULL || code != CL_SUCCESS)
		return false;
	message_text(m, KSF_KERNEL, name);
	message_text(m, KSF_KERNEL_ATTRIBUTES, kernel_text(m, kernel, 0, CL_KERNEL_ATTRIBUTES));
	add_args(m, kernel);
	next.clReleaseKernel(kernel);
	return true;
}

/* Adds all kernels or none: half a list would say that the others are not there. Of what nobody stores now it adds
 * names alone: a driver makes kernels of that for the application only, as some say on standard error what is wrong
 * with one (Oclgrind). */
static void add_kernels(struct message *m, cl_program program, enum detail detail)
{
	size_t size, n = 0, i = 0, first = m->count;
	if (next.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(n), &n, NULL) != CL_SUCCESS || n == 0 || n > 65536)
		return;
	char *rest = NULL, *names = message_own(m, program_text(program, CL_PROGRAM_KERNEL_NAMES, &size));
	for (char *name = names == NULL ? NULL : strtok_r(names, ";", &rest); name != NULL && i < n;
		 name = strtok_r(NULL, ";", &rest), i++) {
		if (detail == WITH_NAMES)
			message_text(m, KSF_KERNEL, name);
		else if (!add_kernel(m, program, name))
			break;
	}
	if (i != n)
		m->count = first;
}

/* Adds what the driver made. false: it does not answer, and nothing was added. */
static bool add_built(struct message *m, cl_program program, cl_uint n, const cl_device_id *devices, uint64_t took, enum detail detail)
{
	ksf_field made[64] = {0};
	size_t first = 0, last = 0; /* kernels, which are of the program */
	if (detail == WITH_BINARIES && !get_binaries(m, program, n, devices, made))
		return false;
	for (cl_uint i = 0; i < n; i++) {
		message_result(m, KSF_BUILT, CL_SUCCESS, took / n);
		if (made[i].data != NULL)
			message_add(m, made[i]);
		add_log(m, program, devices[i]);
		for (size_t k = first; k < last; k++)
			message_add(m, m->fields[k]);
		if (i == 0 && detail != WITH_LOG) {
			first = m->count;
			add_kernels(m, program, detail);
			last = m->count;
		}
	}
	return true;
}

bool refused_by_the_compiler(cl_int code)
{
	return code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS || code == CL_COMPILE_PROGRAM_FAILURE ||
		code == CL_LINK_PROGRAM_FAILURE || code == CL_INVALID_COMPILER_OPTIONS || code == CL_INVALID_LINKER_OPTIONS;
}

bool add_results(struct message *m, cl_program program, cl_uint n, const cl_device_id *devices, cl_int code, uint64_t took,
	enum detail detail)
{
	if (code == CL_SUCCESS && add_built(m, program, n, devices, took, detail) && !m->failed)
		return true;
	message_free(m); /* what was gathered by then; the driver may have told a size that nobody has memory for */
	for (cl_uint i = 0; i < n; i++) {
		bool refused = program != NULL && refused_by_the_compiler(code) && build_status(program, devices[i]) == CL_BUILD_ERROR;
		message_result(m, refused ? KSF_FAILED : KSF_ABANDONED, code, took / n);
		if (refused)
			add_log(m, program, devices[i]);
	}
	return false;
}
