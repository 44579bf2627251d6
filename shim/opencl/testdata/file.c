/* file.c: builds the source in a file, with empty options, or with none at all where
 * there is a second argument. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static char text[1 << 16];
	const char *strings = text;
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (f == NULL || fread(text, 1, sizeof(text) - 1, f) == 0)
		return 2;
	fclose(f);
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 3;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_program program = clCreateProgramWithSource(context, 1, &strings, NULL, &code);
	code = clBuildProgram(program, 0, NULL, argc > 2 ? NULL : "", NULL, NULL);
	printf("%d\n", code);
	clReleaseProgram(program);
	clReleaseContext(context);
	return code == CL_SUCCESS ? 0 : 1;
}
