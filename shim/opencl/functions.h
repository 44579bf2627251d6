/* functions.h: the functions of the API that the shim stands before. */
#pragma once

#define EACH_FUNCTION(F) \
	F(clGetContextInfo) \
	F(clCreateProgramWithSource) F(clCreateProgramWithBinary) F(clCreateProgramWithBuiltInKernels) F(clCreateProgramWithIL) \
	F(clRetainProgram) F(clReleaseProgram) F(clSetProgramSpecializationConstant) \
	F(clBuildProgram) F(clCompileProgram) F(clLinkProgram) F(clGetProgramInfo) F(clGetProgramBuildInfo) \
	F(clCreateKernel) F(clCreateKernelsInProgram) F(clCloneKernel) F(clRetainKernel) F(clReleaseKernel) \
	F(clGetKernelInfo) F(clGetKernelArgInfo) F(clEnqueueNDRangeKernel) F(clEnqueueTask) \
	F(clGetExtensionFunctionAddress) F(clGetExtensionFunctionAddressForPlatform)
