/* observe.h: prints what an application can see of programs and kernels. */
#ifndef OBSERVE_H
#define OBSERVE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sources[] = {
	"__attribute__((reqd_work_group_size(4, 1, 1))) __attribute__((vec_type_hint(float4)))\n"
	"kernel void scale(global float *restrict a, const float by, constant float *c, local int *scratch)\n"
	"{ scratch[get_local_id(0)] = 1; a[get_global_id(0)] = a[get_global_id(0)] * by + c[0] * (MORE); }\n",
	"#ifndef MORE\n#define MORE 0\n#endif\n",
	"kernel void second(global const volatile int *in, global int *out, uint4 v) { out[0] = in[0] + v.x; }\n"
	"kernel void third(void) {}\n"
	"#ifdef BAD\n#error this is bad\n#endif\n"
	"#ifdef WARN\n#warning take care\n#endif\n",
};

static inline cl_program make(cl_context context)
{
	/* Out of order in memory, to be joined by the driver; one with its length. */
	const char *strings[3] = {sources[1], sources[0], sources[2]};
	const size_t lengths[3] = {0, strlen(sources[0]), 0};
	cl_int code;
	cl_program p = clCreateProgramWithSource(context, 3, strings, lengths, &code);
	if (p == NULL) {
		printf("no program: %d\n", code);
		exit(1);
	}
	return p;
}

static inline unsigned long digest(const void *data, size_t size)
{
	const unsigned char *at = data;
	unsigned long h = 1469598103934665603ul;
	for (size_t i = 0; i < size; i++)
		h = (h ^ at[i]) * 1099511628211ul;
	return h;
}

static inline void print_bytes(const void *data, size_t size, bool text)
{
	if (text)
		printf(" \"%.*s\"", (int)size, (const char *)data);
	else if (size <= 32)
		for (size_t i = 0; i < size; i++)
			printf(" %02x", ((const unsigned char *)data)[i]);
	else
		printf(" #%lx", digest(data, size));
}

/* Asks for the size, with too little room, with just enough, and with more. */
#define ASK(label, is_text, call) \
	do { \
		char room_[65536]; \
		size_t n_ = 4242, again_ = 4243; \
		void *to_ = NULL; \
		size_t size_ = 0; \
		size_t *ret_ = &n_; \
		cl_int code_ = call; \
		printf("%s: %d size %zu", label, code_, n_); \
		if (code_ == CL_SUCCESS && n_ < sizeof(room_)) { \
			to_ = room_, size_ = n_ - 1, ret_ = NULL; \
			if (n_ > 0) \
				printf(" short %d", call); \
			memset(room_, 0x5a, sizeof(room_)); \
			size_ = sizeof(room_), ret_ = &again_; \
			printf(" value %d", call); \
			printf(" %zu", again_); \
			print_bytes(room_, n_, is_text); \
			printf("%s", room_[n_] == 0x5a ? "" : " overrun"); \
		} \
		printf("\n"); \
	} while (0)

#define PROGRAM(what, is_text) ASK("  " #what, is_text, clGetProgramInfo(p, what, size_, to_, ret_))
#define BUILD(what, is_text) ASK("    " #what, is_text, clGetProgramBuildInfo(p, d, what, size_, to_, ret_))
#define KERNEL(what, is_text) ASK("      " #what, is_text, clGetKernelInfo(k, what, size_, to_, ret_))
#define ARG(what, is_text) ASK("        " #what, is_text, clGetKernelArgInfo(k, i, what, size_, to_, ret_))
#define GROUP(what, d) ASK("      " #what, false, clGetKernelWorkGroupInfo(k, d, what, size_, to_, ret_))

static inline cl_uint references(cl_program p)
{
	cl_uint n = 0;
	clGetProgramInfo(p, CL_PROGRAM_REFERENCE_COUNT, sizeof(n), &n, NULL);
	return n;
}

static inline void observe_kernel(cl_program p, cl_kernel k, cl_device_id d)
{
	cl_program parent = NULL;
	cl_uint nargs = 0;
	KERNEL(CL_KERNEL_FUNCTION_NAME, true);
	KERNEL(CL_KERNEL_NUM_ARGS, false);
	KERNEL(CL_KERNEL_REFERENCE_COUNT, false);
	KERNEL(CL_KERNEL_ATTRIBUTES, true);
	KERNEL(0x7777, false);
	printf("      program %d", clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof(parent), &parent, NULL));
	printf(" same %d short %d\n", parent == p, clGetKernelInfo(k, CL_KERNEL_PROGRAM, 4, &parent, NULL));
	GROUP(CL_KERNEL_WORK_GROUP_SIZE, d);
	GROUP(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, d);
	GROUP(CL_KERNEL_LOCAL_MEM_SIZE, d);
	GROUP(CL_KERNEL_PRIVATE_MEM_SIZE, d);
	GROUP(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, d);
	GROUP(CL_KERNEL_GLOBAL_WORK_SIZE, d);
	clGetKernelInfo(k, CL_KERNEL_NUM_ARGS, sizeof(nargs), &nargs, NULL);
	for (cl_uint i = 0; i <= nargs; i++) {
		ARG(CL_KERNEL_ARG_ADDRESS_QUALIFIER, false);
		ARG(CL_KERNEL_ARG_ACCESS_QUALIFIER, false);
		ARG(CL_KERNEL_ARG_TYPE_NAME, true);
		ARG(CL_KERNEL_ARG_TYPE_QUALIFIER, false);
		ARG(CL_KERNEL_ARG_NAME, true);
		ARG(0x7777, false);
	}
}

static inline void observe_build(cl_program p, cl_device_id d)
{
	BUILD(CL_PROGRAM_BUILD_STATUS, false);
	BUILD(CL_PROGRAM_BUILD_OPTIONS, true);
	BUILD(CL_PROGRAM_BUILD_LOG, true);
	BUILD(CL_PROGRAM_BINARY_TYPE, false);
	BUILD(CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, false);
	BUILD(0x7777, false);
}

/* binaries: a deferring driver compiles when it is asked for them. */
static inline void observe_program(cl_program p, cl_uint n, const cl_device_id *devices, bool binaries)
{
	PROGRAM(CL_PROGRAM_REFERENCE_COUNT, false);
	PROGRAM(CL_PROGRAM_NUM_DEVICES, false);
	PROGRAM(CL_PROGRAM_SOURCE, true);
	PROGRAM(CL_PROGRAM_IL, false);
	PROGRAM(CL_PROGRAM_NUM_KERNELS, false);
	PROGRAM(CL_PROGRAM_KERNEL_NAMES, true);
	PROGRAM(CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, false);
	PROGRAM(CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, false);
	PROGRAM(0x7777, false);
	for (cl_uint i = 0; i < n; i++)
		observe_build(p, devices[i]);
	if (!binaries)
		return;
	/* PoCL's binary is what its cache holds by now. */
	const char *differs = getenv("OBSERVE_POCL") == NULL ? "" : "~";
	size_t sizes[8] = {0}, n_ret = 0;
	unsigned char *to[8] = {NULL};
	printf("  CL_PROGRAM_BINARY_SIZES %d", clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &n_ret));
	printf(" %zu", n_ret);
	for (cl_uint i = 0; i < n; i++) {
		printf(" %s%zu", differs, sizes[i]);
		to[i] = malloc(sizes[i] + 1);
	}
	printf("\n  CL_PROGRAM_BINARIES short %d", clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(to[0]) - 1, to, NULL));
	printf(" %d", clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(to), to, &n_ret));
	printf(" %zu", n_ret);
	for (cl_uint i = 0; i < n; i++) {
		printf(" %s%lx", differs, digest(to[i], sizes[i]));
		free(to[i]);
	}
	printf("\n");
}

#endif
