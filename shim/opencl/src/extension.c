/* extension.c: functions that an application asks for by name. Those that make a program of known code, take a
 * program, or record a launch, are stood before; each is of one platform, and is asked for again with that at hand. */
#include "shim.h"

static void *drivers_own(cl_platform_id platform, const char *name)
{
	if (platform != NULL && next.clGetExtensionFunctionAddressForPlatform != NULL)
		return next.clGetExtensionFunctionAddressForPlatform(platform, name);
	return next.clGetExtensionFunctionAddress == NULL ? NULL : next.clGetExtensionFunctionAddress(name);
}

static cl_platform_id platform_of_context(cl_context context)
{
	cl_device_id devices[64];
	size_t size = 0;
	if (next.clGetContextInfo == NULL ||
		next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size) != CL_SUCCESS || size == 0)
		return NULL;
	return platform_of(devices[0]);
}

static cl_program CL_API_CALL with_il(cl_context context, const void *il, size_t length, cl_int *code)
{
	with_il_fn driver = NULL;
	*(void **)&driver = drivers_own(platform_of_context(context), "clCreateProgramWithILKHR");
	if (driver != NULL)
		return program_with_il(driver, context, il, length, code);
	if (code != NULL)
		*code = CL_INVALID_CONTEXT;
	return NULL;
}

/* The shadow that has a program's code, where there is one; it is to be put. */
static struct shadow *with_code(cl_program handle)
{
	struct program *p = program_get(handle);
	struct shadow *s = p == NULL ? NULL : program_shadow(p);
	program_put(p);
	return s;
}

/* A function that looks a name up in a program's code. */
#define LOOKS_UP(function, extension, parameters, arguments) \
	static cl_int CL_API_CALL function parameters \
	{ \
		cl_int(CL_API_CALL *driver) parameters = NULL; \
		*(void **)&driver = drivers_own(platform_of(device), extension); \
		if (driver == NULL) \
			return CL_INVALID_DEVICE; \
		struct shadow *s = with_code(program); \
		if (s != NULL) \
			program = s->handle; \
		cl_int code = driver arguments; \
		shadow_put(s); \
		return code; \
	}

LOOKS_UP(function_pointer, "clGetDeviceFunctionPointerINTEL",
	(cl_device_id device, cl_program program, const char *name, cl_ulong *to), (device, program, name, to))
LOOKS_UP(variable_pointer, "clGetDeviceGlobalVariablePointerINTEL",
	(cl_device_id device, cl_program program, const char *name, size_t *size, void **to),
	(device, program, name, size, to))

/* A launch that is recorded in a command buffer. What differs between versions of the extension is behind pointers. */
static cl_int CL_API_CALL record(void *buffer, cl_command_queue queue, const void *properties, cl_kernel kernel, cl_uint dimensions,
	const size_t *offset, const size_t *global, const size_t *local, cl_uint npoints, const cl_uint *points, cl_uint *point,
	void **command)
{
	__typeof__(record) *driver = NULL;
	cl_context context = NULL;
	if (next.clGetKernelInfo == NULL ||
		next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS)
		return CL_INVALID_KERNEL;
	*(void **)&driver = drivers_own(platform_of_context(context), "clCommandNDRangeKernelKHR");
	if (driver == NULL)
		return CL_INVALID_OPERATION;
	kernel_launched(kernel, dimensions, offset, global, local);
	return driver(buffer, queue, properties, kernel, dimensions, offset, global, local, npoints, points, point, command);
}

static void *ours(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} known[] = {
		{"clCreateProgramWithILKHR", (void *)with_il},
		{"clGetDeviceFunctionPointerINTEL", (void *)function_pointer},
		{"clGetDeviceGlobalVariablePointerINTEL", (void *)variable_pointer},
		{"clCommandNDRangeKernelKHR", (void *)record},
	};
	for (size_t i = 0; name != NULL && i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].function;
	return NULL;
}

bool extension_stood_before(const char *name) { return ours(name) != NULL; }

/* found is what the driver answered: what it has not we have not. */
static void *instead(const char *name, void *found)
{
	void *function = found == NULL ? NULL : ours(name);
	return function == NULL ? found : function;
}

void *CL_API_CALL ks_clGetExtensionFunctionAddress(const char *name)
{
	return instead(name, next.clGetExtensionFunctionAddress(name));
}

void *CL_API_CALL ks_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	return instead(name, next.clGetExtensionFunctionAddressForPlatform(platform, name));
}
