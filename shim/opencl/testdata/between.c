/* between.c: an interposer that is linked to a driver, and builds with other options. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>

__attribute__((visibility("default"))) cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *list,
	const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	__typeof__(clBuildProgram) *build;
	(void)options;
	*(void **)&build = dlsym(RTLD_NEXT, "clBuildProgram");
	return build(p, n, list, "-between", notify, data);
}
