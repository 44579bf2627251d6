/*
 * stopwatch.c: a layer that measures how long the driver takes for builds and
 * launches. It stands between the driver and the layer that is looked at, which
 * stays out where anything but a driver does: so it has a driver's entry point.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_layer.h>

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

typedef void(CL_CALLBACK *notify_fn)(cl_program, void *);

static cl_icd_dispatch driver;
static atomic_uint_fast64_t spent;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds in the driver since the last call. */
EXPORT uint64_t stopwatch(void);
EXPORT uint64_t stopwatch(void) { return atomic_exchange(&spent, 0); }

static cl_int CL_API_CALL build(cl_program p, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify, void *data)
{
	uint64_t start = now();
	cl_int code = driver.clBuildProgram(p, n, list, options, notify, data);
	atomic_fetch_add(&spent, now() - start);
	return code;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
	const size_t *global, const size_t *local, cl_uint n, const cl_event *events, cl_event *event)
{
	uint64_t start = now();
	cl_int code = driver.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, n, events, event);
	atomic_fetch_add(&spent, now() - start);
	return code;
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *list, cl_uint *count);
EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *list, cl_uint *count)
{
	(void)n, (void)list, (void)count;
	return CL_INVALID_VALUE;
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *to, size_t *size)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	if (what != CL_LAYER_API_VERSION || (to != NULL && room < sizeof(version)))
		return CL_INVALID_VALUE;
	if (to != NULL)
		memcpy(to, &version, sizeof(version));
	if (size != NULL)
		*size = sizeof(version);
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *entries, const cl_icd_dispatch **ours)
{
	static cl_icd_dispatch table;
	const cl_uint known = sizeof(table) / sizeof(void *);
	if (n > known)
		n = known;
	memcpy((void *)&table, (const void *)target, n * sizeof(void *));
	driver = table;
	table.clBuildProgram = build;
	table.clEnqueueNDRangeKernel = launch;
	*entries = n;
	*ours = &table;
	return CL_SUCCESS;
}
