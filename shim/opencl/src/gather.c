/* gather.c: what a build made: binaries, logs, kernels with their arguments. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

enum { large_text = 128 << 10 }; /* what the C library maps anew, at first */

void *program_text(cl_program program, cl_program_info what, size_t *size)
{
	size_t n = 0;
	if (next.clGetProgramInfo(program, what, 0, NULL, &n) != CL_SUCCESS)
		return NULL;
	char *text = malloc(n + 1);
	if (text == NULL)
		return NULL;
	if (n >= large_text)
		make_pages(text, n);
	if (n > 0 && next.clGetProgramInfo(program, what, n, text, NULL) != CL_SUCCESS) {
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
	if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL) != CL_SUCCESS)
		return CL_BUILD_NONE;
	return status;
}

void gather_log(cl_program program, cl_device_id device, struct gathered *out)
{
	size_t n = 0;
	if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n == 0)
		return;
	char *log = malloc(n + 1);
	if (log == NULL)
		return;
	if (next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, n, log, NULL) != CL_SUCCESS) {
		free(log);
		return;
	}
	out->log = log;
	out->artifact.log = (struct bytes){log, log[n - 1] == 0 ? n - 1 : n};
}

static bool gather_binaries(cl_program program, cl_uint n, const cl_device_id *devices, struct gathered *out)
{
	cl_uint all = 0;
	cl_device_id listed[64];
	size_t sizes[64];
	unsigned char *to[64] = {NULL};
	if (next.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(all), &all, NULL) != CL_SUCCESS || all == 0 || all > 64 ||
		next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, all * sizeof(listed[0]), listed, NULL) != CL_SUCCESS ||
		next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, all * sizeof(sizes[0]), sizes, NULL) != CL_SUCCESS)
		return false;
	for (cl_uint i = 0; i < n; i++) {
		cl_uint at = 0;
		while (at < all && listed[at] != devices[i])
			at++;
		if (at == all || sizes[at] == 0 || to[at] != NULL)
			return false;
		to[at] = out[i].binary = malloc(sizes[at]);
		if (to[at] == NULL)
			return false;
		out[i].artifact.binary = (struct bytes){to[at], sizes[at]};
	}
	return next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, all * sizeof(to[0]), to, NULL) == CL_SUCCESS;
}

/* A string that a query of a kernel gives; NULL bytes: it gives none. */
static struct bytes kernel_text(cl_kernel kernel, cl_uint arg, cl_uint what)
{
	struct bytes none = {NULL, 0};
	size_t n = 0;
	bool attributes = what == CL_KERNEL_ATTRIBUTES;
	cl_int code = attributes ? next.clGetKernelInfo(kernel, what, 0, NULL, &n)
							 : next.clGetKernelArgInfo(kernel, arg, what, 0, NULL, &n);
	if (code != CL_SUCCESS || n == 0)
		return none;
	char *text = malloc(n + 1);
	if (text == NULL)
		return none;
	code = attributes ? next.clGetKernelInfo(kernel, what, n, text, NULL) : next.clGetKernelArgInfo(kernel, arg, what, n, text, NULL);
	if (code != CL_SUCCESS) {
		free(text);
		return none;
	}
	text[n] = 0;
	return (struct bytes){text, strlen(text)};
}

static void gather_args(cl_kernel kernel, struct kernel_info *k)
{
	cl_uint n = 0;
	if (next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL) != CL_SUCCESS || n == 0)
		return;
	struct arg_info *args = calloc(n, sizeof(*args));
	if (args == NULL)
		return;
	for (cl_uint i = 0; next.clGetKernelArgInfo != NULL && i < n; i++) {
		cl_uint number = 0;
		cl_kernel_arg_type_qualifier qualifiers = 0;
		args[i].name = kernel_text(kernel, i, CL_KERNEL_ARG_NAME);
		args[i].type = kernel_text(kernel, i, CL_KERNEL_ARG_TYPE_NAME);
		if (next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(number), &number, NULL) == CL_SUCCESS)
			args[i].address = number;
		if (next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(number), &number, NULL) == CL_SUCCESS)
			args[i].access = number;
		if (next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(qualifiers), &qualifiers, NULL) == CL_SUCCESS)
			args[i].qualifiers = qualifiers;
	}
	k->args = args;
	k->nargs = n;
}

static void free_kernels(uint32_t n, struct kernel_info *kernels)
{
	for (uint32_t i = 0; kernels != NULL && i < n; i++) {
		for (uint32_t j = 0; kernels[i].args != NULL && j < kernels[i].nargs; j++) {
			free((void *)kernels[i].args[j].name.data);
			free((void *)kernels[i].args[j].type.data);
		}
		free((void *)kernels[i].args);
		free((void *)kernels[i].name.data);
		free((void *)kernels[i].attributes.data);
	}
	free(kernels);
}

static struct kernel_info *gather_kernels(cl_program program, uint32_t *count)
{
	size_t size, n = 0;
	*count = 0;
	if (next.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(n), &n, NULL) != CL_SUCCESS || n == 0 || n > 65536)
		return NULL;
	char *names = program_text(program, CL_PROGRAM_KERNEL_NAMES, &size), *rest = NULL;
	struct kernel_info *kernels = calloc(n, sizeof(*kernels));
	size_t i = 0;
	for (char *name = names == NULL || kernels == NULL ? NULL : strtok_r(names, ";", &rest); name != NULL && i < n;
		 name = strtok_r(NULL, ";", &rest), i++) {
		cl_int code = CL_SUCCESS;
		cl_kernel kernel = next.clCreateKernel(program, name, &code);
		if (kernel == NULL || code != CL_SUCCESS)
			break;
		char *copy = strdup(name);
		kernels[i].name = (struct bytes){copy, copy == NULL ? 0 : strlen(copy)};
		kernels[i].attributes = kernel_text(kernel, 0, CL_KERNEL_ATTRIBUTES);
		gather_args(kernel, &kernels[i]);
		next.clReleaseKernel(kernel);
	}
	free(names);
	if (i != n) { /* half a list would say that the others are not there */
		free_kernels((uint32_t)i, kernels);
		return NULL;
	}
	*count = (uint32_t)n;
	return kernels;
}

bool gather(cl_program program, cl_uint n, const cl_device_id *devices, bool binaries, struct gathered *out)
{
	memset(out, 0, n * sizeof(*out));
	if (binaries && !gather_binaries(program, n, devices, out)) {
		gathered_free(n, out);
		return false;
	}
	/* A driver makes kernels of what nobody stores for the application alone: some say
	 * on standard error what is wrong with one (Oclgrind). */
	uint32_t count = 0;
	if (binaries)
		out[0].kernels = gather_kernels(program, &count);
	for (cl_uint i = 0; i < n; i++) {
		gather_log(program, devices[i], &out[i]);
		out[i].artifact.kernels = out[0].kernels;
		out[i].artifact.nkernels = count;
	}
	return true;
}

void gathered_free(cl_uint n, struct gathered *g)
{
	free_kernels(g[0].artifact.nkernels, g[0].kernels);
	for (cl_uint i = 0; i < n; i++) {
		free(g[i].binary);
		free(g[i].log);
	}
	memset(g, 0, n * sizeof(*g));
}

bool refused_by_the_compiler(cl_int code)
{
	return code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS || code == CL_COMPILE_PROGRAM_FAILURE ||
		code == CL_LINK_PROGRAM_FAILURE || code == CL_INVALID_COMPILER_OPTIONS || code == CL_INVALID_LINKER_OPTIONS;
}

void outcomes_of(cl_program program, cl_uint n, const cl_device_id *devices, const struct artifact *holes, cl_int code,
	uint64_t took, bool binaries, struct gathered *gathered, struct outcome *outcomes)
{
	bool made = code == CL_SUCCESS && gather(program, n, devices, binaries, gathered);
	for (cl_uint i = 0; i < n; i++) {
		struct outcome *o = &outcomes[i];
		*o = (struct outcome){.result = KSF_ABANDONED, .code = code, .nanoseconds = took / n};
		if (made) {
			o->result = KSF_BUILT;
		} else if (program != NULL && refused_by_the_compiler(code) && build_status(program, devices[i]) == CL_BUILD_ERROR) {
			o->result = KSF_FAILED;
			gather_log(program, devices[i], &gathered[i]);
		} else {
			continue;
		}
		o->artifact = gathered[i].artifact;
		o->artifact.kind = holes[i].kind;
	}
}
