/*
 * opened.h: makes a program that is linked to OpenCL one that opens it and looks each
 * function up, at each call; for cc -include. OPENED names the library, OPENED_HOW how it
 * is reached:
 *
 *	local    dlopen, RTLD_LOCAL
 *	global   dlopen, RTLD_GLOBAL, and dlsym(RTLD_DEFAULT)
 *	wrapped  by a function of the program's own that calls dlsym
 *	version  dlvsym
 *	space    dlmopen, in a namespace of its own
 */
#ifndef OPENED_H
#define OPENED_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *opened_version(void *library, const char *name)
{
	static const char *const versions[] = {"OPENCL_1.0", "OPENCL_1.1", "OPENCL_1.2", "OPENCL_2.0", "OPENCL_2.1", "OPENCL_2.2", "OPENCL_3.0"};
	void *found = NULL;
	for (size_t i = 0; found == NULL && i < sizeof(versions) / sizeof(*versions); i++)
		found = dlvsym(library, name, versions[i]);
	dlerror();
	return found;
}

static __attribute__((noinline, unused)) void *opened_wrapped(void *library, const char *name) { return dlsym(library, name); }

/* The function of a name. It ends the process where there is none, or where dlerror has
 * something to say after all. */
static inline void *opened(const char *name)
{
	static void *library;
	static char how;
	if (library == NULL) {
		how = *getenv("OPENED_HOW");
		const char *file = getenv("OPENED");
		library = how == 's' ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW) : dlopen(file, RTLD_NOW | (how == 'g' ? RTLD_GLOBAL : RTLD_LOCAL));
	}
	void *found = NULL;
	if (library != NULL)
		found = how == 'v' ? opened_version(library, name) : how == 'w' ? opened_wrapped(library, name) :
			dlsym(how == 'g' ? RTLD_DEFAULT : library, name);
	const char *error = dlerror();
	if (found == NULL || error != NULL) {
		fprintf(stderr, "%s: %s\n", name, error != NULL ? error : "not there");
		exit(4);
	}
	return found;
}

#define OPENED(name) (*(__typeof__(name) *)opened(#name))
#define clBuildProgram OPENED(clBuildProgram)
#define clCloneKernel OPENED(clCloneKernel)
#define clCompileProgram OPENED(clCompileProgram)
#define clCreateBuffer OPENED(clCreateBuffer)
#define clCreateCommandQueue OPENED(clCreateCommandQueue)
#define clCreateContext OPENED(clCreateContext)
#define clCreateKernel OPENED(clCreateKernel)
#define clCreateKernelsInProgram OPENED(clCreateKernelsInProgram)
#define clCreateProgramWithBinary OPENED(clCreateProgramWithBinary)
#define clCreateProgramWithBuiltInKernels OPENED(clCreateProgramWithBuiltInKernels)
#define clCreateProgramWithIL OPENED(clCreateProgramWithIL)
#define clCreateProgramWithSource OPENED(clCreateProgramWithSource)
#define clCreateSubDevices OPENED(clCreateSubDevices)
#define clEnqueueNDRangeKernel OPENED(clEnqueueNDRangeKernel)
#define clEnqueueReadBuffer OPENED(clEnqueueReadBuffer)
#define clEnqueueTask OPENED(clEnqueueTask)
#define clGetContextInfo OPENED(clGetContextInfo)
#define clGetDeviceIDs OPENED(clGetDeviceIDs)
#define clGetDeviceInfo OPENED(clGetDeviceInfo)
#define clGetExtensionFunctionAddressForPlatform OPENED(clGetExtensionFunctionAddressForPlatform)
#define clGetKernelArgInfo OPENED(clGetKernelArgInfo)
#define clGetKernelInfo OPENED(clGetKernelInfo)
#define clGetKernelWorkGroupInfo OPENED(clGetKernelWorkGroupInfo)
#define clGetPlatformIDs OPENED(clGetPlatformIDs)
#define clGetProgramBuildInfo OPENED(clGetProgramBuildInfo)
#define clGetProgramInfo OPENED(clGetProgramInfo)
#define clLinkProgram OPENED(clLinkProgram)
#define clReleaseCommandQueue OPENED(clReleaseCommandQueue)
#define clReleaseContext OPENED(clReleaseContext)
#define clReleaseDevice OPENED(clReleaseDevice)
#define clReleaseKernel OPENED(clReleaseKernel)
#define clReleaseMemObject OPENED(clReleaseMemObject)
#define clReleaseProgram OPENED(clReleaseProgram)
#define clRetainKernel OPENED(clRetainKernel)
#define clRetainProgram OPENED(clRetainProgram)
#define clSetKernelArg OPENED(clSetKernelArg)
#define clSetProgramReleaseCallback OPENED(clSetProgramReleaseCallback)
#define clSetProgramSpecializationConstant OPENED(clSetProgramSpecializationConstant)

#endif
