/*
 * preload.c: the other way in, LD_PRELOAD, for applications whose loader knows
 * no layers and those that are linked to a driver. The functions of the API are
 * exported, and stand before those of the library behind us.
 *
 * An application that opens libOpenCL itself and looks functions up in it finds
 * the library's own, and goes without the cache: what would catch it is a dlsym
 * of our own for the whole process, and that breaks others' (RTLD_NEXT, which
 * depends on the caller; other preloads that do the same). Loaders with layers
 * serve these applications.
 */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>

static cl_icd_dispatch beyond; /* the library behind us */
static cl_icd_dispatch before; /* what the application calls */

/* Where the functions behind us are: in what follows us, or, where that has none
 * because a library with a scope of its own calls (a module of an interpreter),
 * in the loader. Never in both: a function that one of them lacks is not there. */
static void *library_behind(void)
{
	if (dlsym(RTLD_NEXT, "clBuildProgram") != NULL)
		return RTLD_NEXT;
	void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	return loader != NULL ? loader : dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
}

static void open_door(void)
{
	const char *reason;
	void *library = library_behind();
	if (library == NULL)
		return;
#define FIND(name) *(void **)&beyond.name = dlsym(library, #name)
	FIND(clGetPlatformInfo);
	FIND(clGetDeviceInfo);
	FIND(clGetContextInfo);
	FIND(clCreateProgramWithSource);
	FIND(clCreateProgramWithBinary);
	FIND(clCreateProgramWithBuiltInKernels);
	FIND(clCreateProgramWithIL);
	FIND(clRetainProgram);
	FIND(clReleaseProgram);
	FIND(clSetProgramSpecializationConstant);
	FIND(clBuildProgram);
	FIND(clCompileProgram);
	FIND(clLinkProgram);
	FIND(clGetProgramInfo);
	FIND(clGetProgramBuildInfo);
	FIND(clCreateKernel);
	FIND(clCreateKernelsInProgram);
	FIND(clCloneKernel);
	FIND(clRetainKernel);
	FIND(clReleaseKernel);
	FIND(clGetKernelInfo);
	FIND(clGetKernelArgInfo);
	FIND(clEnqueueNDRangeKernel);
	FIND(clEnqueueTask);
	FIND(clGetExtensionFunctionAddress);
	FIND(clGetExtensionFunctionAddressForPlatform);
#undef FIND
	before = beyond;
	if (door_wanted() != DOOR_PRELOAD)
		return;
	if (library_unwanted(&reason)) {
		report("out", "reason", reason);
		return;
	}
	if (beyond.clGetProgramInfo == NULL || beyond.clGetProgramBuildInfo == NULL || beyond.clGetDeviceInfo == NULL)
		return;
	next = beyond;
	state_guard_fork();
	dispatch_fill(&before, &next);
	report("loaded", "door", "opencl-preload");
}

static const cl_icd_dispatch *door(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, open_door);
	return &before;
}

/* Functions that return an error code, and those that return an object and
 * write one. Without a library behind us there is nothing to call. */
#define CODE(name, parameters, arguments) \
	EXPORT cl_int CL_API_CALL name parameters \
	{ \
		const cl_icd_dispatch *d = door(); \
		return d->name == NULL ? CL_INVALID_OPERATION : d->name arguments; \
	}

#define OBJECT(type, name, parameters, arguments) \
	EXPORT type CL_API_CALL name parameters \
	{ \
		const cl_icd_dispatch *d = door(); \
		if (d->name != NULL) \
			return d->name arguments; \
		if (code != NULL) \
			*code = CL_INVALID_OPERATION; \
		return NULL; \
	}

CODE(clGetContextInfo, (cl_context context, cl_context_info what, size_t room, void *to, size_t *size_ret),
	(context, what, room, to, size_ret))
OBJECT(cl_program, clCreateProgramWithSource,
	(cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *code),
	(context, count, strings, lengths, code))
OBJECT(cl_program, clCreateProgramWithBinary,
	(cl_context context, cl_uint n, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries,
		cl_int *status, cl_int *code),
	(context, n, devices, lengths, binaries, status, code))
OBJECT(cl_program, clCreateProgramWithBuiltInKernels,
	(cl_context context, cl_uint n, const cl_device_id *devices, const char *names, cl_int *code),
	(context, n, devices, names, code))
OBJECT(cl_program, clCreateProgramWithIL, (cl_context context, const void *il, size_t length, cl_int *code),
	(context, il, length, code))
CODE(clRetainProgram, (cl_program program), (program))
CODE(clReleaseProgram, (cl_program program), (program))
CODE(clSetProgramSpecializationConstant, (cl_program program, cl_uint id, size_t size, const void *value),
	(program, id, size, value))
CODE(clBuildProgram,
	(cl_program program, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify, void *user_data),
	(program, n, list, options, notify, user_data))
CODE(clCompileProgram,
	(cl_program program, cl_uint n, const cl_device_id *list, const char *options, cl_uint nheaders,
		const cl_program *headers, const char **names, notify_fn notify, void *user_data),
	(program, n, list, options, nheaders, headers, names, notify, user_data))
OBJECT(cl_program, clLinkProgram,
	(cl_context context, cl_uint n, const cl_device_id *list, const char *options, cl_uint ninputs,
		const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code),
	(context, n, list, options, ninputs, inputs, notify, user_data, code))
CODE(clGetProgramInfo, (cl_program program, cl_program_info what, size_t room, void *to, size_t *size_ret),
	(program, what, room, to, size_ret))
CODE(clGetProgramBuildInfo,
	(cl_program program, cl_device_id device, cl_program_build_info what, size_t room, void *to, size_t *size_ret),
	(program, device, what, room, to, size_ret))
OBJECT(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code), (program, name, code))
CODE(clCreateKernelsInProgram, (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *n),
	(program, room, kernels, n))
OBJECT(cl_kernel, clCloneKernel, (cl_kernel kernel, cl_int *code), (kernel, code))
CODE(clRetainKernel, (cl_kernel kernel), (kernel))
CODE(clReleaseKernel, (cl_kernel kernel), (kernel))
CODE(clGetKernelInfo, (cl_kernel kernel, cl_kernel_info what, size_t room, void *to, size_t *size_ret),
	(kernel, what, room, to, size_ret))
CODE(clGetKernelArgInfo,
	(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t room, void *to, size_t *size_ret),
	(kernel, index, what, room, to, size_ret))
CODE(clEnqueueNDRangeKernel,
	(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
		const size_t *local, cl_uint nevents, const cl_event *events, cl_event *event),
	(queue, kernel, dimensions, offset, global, local, nevents, events, event))
CODE(clEnqueueTask, (cl_command_queue queue, cl_kernel kernel, cl_uint nevents, const cl_event *events, cl_event *event),
	(queue, kernel, nevents, events, event))

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	const cl_icd_dispatch *d = door();
	return d->clGetExtensionFunctionAddress == NULL ? NULL : d->clGetExtensionFunctionAddress(name);
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	const cl_icd_dispatch *d = door();
	return d->clGetExtensionFunctionAddressForPlatform == NULL ? NULL : d->clGetExtensionFunctionAddressForPlatform(platform, name);
}
