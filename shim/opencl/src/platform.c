/* platform.c: whose device it is. */
#include "shim.h"

#include <string.h>

bool platform_is(cl_device_id device, const char *name)
{
	char found[64] = "";
	cl_platform_id platform = NULL;
	return next.clGetPlatformInfo != NULL &&
		next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS &&
		next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(found), found, NULL) == CL_SUCCESS &&
		strcmp(found, name) == 0;
}
