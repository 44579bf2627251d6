/* opencl.c: prints the directory of each OpenCL device, asked with its platform and
 * without, and of its parts. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "check.h"

int main(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *a, *b;
	cl_platform_id platforms[8];
	cl_device_id devices[8];
	cl_uint np, nd;

	CHECK(clGetPlatformIDs(8, platforms, &np) == CL_SUCCESS);
	for (cl_uint i = 0; i < np && i < 8; i++) {
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 8, devices, &nd) != CL_SUCCESS)
			continue;
		for (cl_uint j = 0; j < nd && j < 8; j++) {
			OK(kernstash_device_opencl(cache, platforms[i], devices[j], &a));
			OK(kernstash_device_opencl(cache, NULL, devices[j], &b));
			CHECK(strcmp(kernstash_device_directory(a), kernstash_device_directory(b)) == 0);
			printf("%s\n", kernstash_device_directory(a));
			kernstash_device_close(b);
			cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
			cl_device_id part[64];
			cl_uint n;
			if (clCreateSubDevices(devices[j], parts, 64, part, &n) == CL_SUCCESS) {
				OK(kernstash_device_opencl(cache, NULL, part[0], &b));
				CHECK(strcmp(kernstash_device_directory(a), kernstash_device_directory(b)) == 0);
				kernstash_device_close(b);
				for (cl_uint k = 0; k < n; k++)
					clReleaseDevice(part[k]);
			}
			kernstash_device_close(a);
		}
	}
	OK(kernstash_close(cache));
	return 0;
}
