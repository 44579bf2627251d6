/* stand_in.h: the functions that stand before those of one library, for preload.c, which includes this once for
 * each: LIBRARY is its number, NAME says what the functions are called. */

#define CALLED behind_of(LIBRARY, __builtin_return_address(0))
#define MAKING behind_making(LIBRARY, __builtin_return_address(0))

/* Functions that return an error code, and those that return an object and write one; the latter make a program
 * if they take a context. Without a library behind us there is nothing to call. */
#define CODE(name, parameters, arguments) \
	static cl_int CL_API_CALL NAME(name) parameters \
	{ \
		const cl_icd_dispatch *d = CALLED; \
		return d->name == NULL ? CL_INVALID_OPERATION : d->name arguments; \
	}

#define OBJECT(type, name, d_is, parameters, arguments) \
	static type CL_API_CALL NAME(name) parameters \
	{ \
		const cl_icd_dispatch *d = d_is; \
		if (d->name != NULL) \
			return d->name arguments; \
		if (code != NULL) \
			*code = CL_INVALID_OPERATION; \
		return NULL; \
	}

CODE(clGetContextInfo, (cl_context context, cl_context_info what, size_t room, void *to, size_t *size_ret),
	(context, what, room, to, size_ret))
OBJECT(cl_program, clCreateProgramWithSource, MAKING,
	(cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *code),
	(context, count, strings, lengths, code))
OBJECT(cl_program, clCreateProgramWithBinary, MAKING,
	(cl_context context, cl_uint n, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries,
		cl_int *status, cl_int *code),
	(context, n, devices, lengths, binaries, status, code))
OBJECT(cl_program, clCreateProgramWithBuiltInKernels, MAKING,
	(cl_context context, cl_uint n, const cl_device_id *devices, const char *names, cl_int *code),
	(context, n, devices, names, code))
OBJECT(cl_program, clCreateProgramWithIL, MAKING, (cl_context context, const void *il, size_t length, cl_int *code),
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
OBJECT(cl_program, clLinkProgram, MAKING,
	(cl_context context, cl_uint n, const cl_device_id *list, const char *options, cl_uint ninputs,
		const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code),
	(context, n, list, options, ninputs, inputs, notify, user_data, code))
CODE(clGetProgramInfo, (cl_program program, cl_program_info what, size_t room, void *to, size_t *size_ret),
	(program, what, room, to, size_ret))
CODE(clGetProgramBuildInfo,
	(cl_program program, cl_device_id device, cl_program_build_info what, size_t room, void *to, size_t *size_ret),
	(program, device, what, room, to, size_ret))
OBJECT(cl_kernel, clCreateKernel, CALLED, (cl_program program, const char *name, cl_int *code), (program, name, code))
CODE(clCreateKernelsInProgram, (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *n),
	(program, room, kernels, n))
OBJECT(cl_kernel, clCloneKernel, CALLED, (cl_kernel kernel, cl_int *code), (kernel, code))
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

/* Of the functions that are asked for by name some make programs. */
static void *CL_API_CALL NAME(clGetExtensionFunctionAddress)(const char *name)
{
	const cl_icd_dispatch *d = extension_stood_before(name) ? MAKING : CALLED;
	return d->clGetExtensionFunctionAddress == NULL ? NULL : d->clGetExtensionFunctionAddress(name);
}

static void *CL_API_CALL NAME(clGetExtensionFunctionAddressForPlatform)(cl_platform_id platform, const char *name)
{
	const cl_icd_dispatch *d = extension_stood_before(name) ? MAKING : CALLED;
	return d->clGetExtensionFunctionAddressForPlatform == NULL ? NULL : d->clGetExtensionFunctionAddressForPlatform(platform, name);
}

#define POINTER(name) (void *)NAME(name),
static void *const ROW(LIBRARY)[] = {EACH_FUNCTION(POINTER)};

#undef LIBRARY
