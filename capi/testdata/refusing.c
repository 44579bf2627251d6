/* refusing.c: a driver that takes no binaries, linked before the loader. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

cl_program clCreateProgramWithBinary(cl_context context, cl_uint n, const cl_device_id *devices, const size_t *sizes,
	const unsigned char **binaries, cl_int *status, cl_int *code)
{
	(void)context, (void)n, (void)devices, (void)sizes, (void)binaries, (void)status;
	if (code != NULL)
		*code = CL_INVALID_BINARY;
	return NULL;
}
