/*
 * loader.c: a loader of OpenCL 1.0, whose table of functions is short and has
 * holes; loader SHIM DRIVER.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(3); \
		} \
	} while (0)

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	void *shim = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *driver = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	CHECK(shim != NULL && driver != NULL);
	pfn_clGetLayerInfo info = (pfn_clGetLayerInfo)dlsym(shim, "clGetLayerInfo");
	pfn_clInitLayer init = (pfn_clInitLayer)dlsym(shim, "clInitLayer");

	cl_layer_api_version version = 0;
	char name[32];
	size_t size = 0;
	CHECK(info(CL_LAYER_API_VERSION, sizeof(version), &version, &size) == CL_SUCCESS && version == 100 && size == sizeof(version));
	CHECK(info(CL_LAYER_NAME, sizeof(name), name, NULL) == CL_SUCCESS && strcmp(name, "kernstash") == 0);
	CHECK(info(CL_LAYER_NAME, 2, name, NULL) == CL_INVALID_VALUE && info(7, 0, NULL, NULL) == CL_INVALID_VALUE);

	/* Up to clEnqueueBarrier and the function for extensions: OpenCL 1.0. What
	 * lies behind is not the table's. */
	cl_icd_dispatch table;
	cl_uint n = offsetof(cl_icd_dispatch, clCreateFromGLBuffer) / sizeof(void *), got = 0;
	memset((void *)&table, 0x5a, sizeof(table));
	memset((void *)&table, 0, n * sizeof(void *));
#define FILL(function) *(void **)&table.function = dlsym(driver, #function)
	FILL(clGetPlatformIDs);
	FILL(clGetDeviceIDs);
	FILL(clGetPlatformInfo);
	FILL(clGetDeviceInfo);
	FILL(clCreateContext);
	FILL(clCreateProgramWithSource);
	FILL(clCreateProgramWithBinary);
	FILL(clRetainProgram);
	FILL(clReleaseProgram);
	FILL(clBuildProgram);
	FILL(clGetProgramInfo);
	FILL(clGetProgramBuildInfo);
	FILL(clCreateKernel);
	FILL(clRetainKernel);
	FILL(clReleaseKernel);
	FILL(clGetKernelInfo);
	FILL(clEnqueueNDRangeKernel);
	const cl_icd_dispatch *d = NULL;
	CHECK(init(n, NULL, &got, &d) == CL_INVALID_VALUE);
	CHECK(init(n, &table, &got, &d) == CL_SUCCESS && d != NULL && got == n);
	CHECK(d->clBuildProgram != NULL && d->clBuildProgram != table.clBuildProgram);
	CHECK(d->clGetPlatformIDs == table.clGetPlatformIDs);
	CHECK(d->clCreateKernelsInProgram == NULL && d->clEnqueueTask == NULL);

	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	d->clGetPlatformIDs(1, &platform, NULL);
	d->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	cl_context context = d->clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	for (int i = 0; i < 2; i++) {
		const char *source = "kernel void first()";
		cl_program p = d->clCreateProgramWithSource(context, 1, &source, NULL, &code);
		CHECK(d->clBuildProgram(p, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
		cl_kernel k = d->clCreateKernel(p, "first", &code);
		cl_program parent = NULL;
		CHECK(k != NULL && d->clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof(parent), &parent, NULL) == CL_SUCCESS && parent == p);
		CHECK(d->clReleaseKernel(k) == CL_SUCCESS && d->clReleaseProgram(p) == CL_SUCCESS);
	}

	/* Named twice, it is there once. */
	cl_icd_dispatch first = *d;
	const cl_icd_dispatch *again = NULL;
	CHECK(init(n, &first, &got, &again) == CL_SUCCESS && again != d && again->clBuildProgram == first.clBuildProgram);
	return 0;
}
