package cl

// The entry points that are called as they are, with their C names without "cl".
var (
	CreateBuffer                     = Entry{name: "clCreateBuffer"}
	CreateContext                    = Entry{name: "clCreateContext"}
	CreateImage                      = Entry{name: "clCreateImage"}
	CreateKernel                     = Entry{name: "clCreateKernel"}
	EnqueueCopyBuffer                = Entry{name: "clEnqueueCopyBuffer"}
	EnqueueFillBuffer                = Entry{name: "clEnqueueFillBuffer"}
	EnqueueNDRangeKernel             = Entry{name: "clEnqueueNDRangeKernel"}
	EnqueueReadBuffer                = Entry{name: "clEnqueueReadBuffer"}
	EnqueueReadImage                 = Entry{name: "clEnqueueReadImage"}
	EnqueueWriteBuffer               = Entry{name: "clEnqueueWriteBuffer"}
	EnqueueWriteImage                = Entry{name: "clEnqueueWriteImage"}
	Finish                           = Entry{name: "clFinish"}
	Flush                            = Entry{name: "clFlush"}
	GetContextInfo                   = Entry{name: "clGetContextInfo"}
	GetEventInfo                     = Entry{name: "clGetEventInfo"}
	GetEventProfilingInfo            = Entry{name: "clGetEventProfilingInfo"}
	GetKernelArgInfo                 = Entry{name: "clGetKernelArgInfo"}
	GetKernelInfo                    = Entry{name: "clGetKernelInfo"}
	GetKernelWorkGroupInfo           = Entry{name: "clGetKernelWorkGroupInfo"}
	GetProgramBuildInfo              = Entry{name: "clGetProgramBuildInfo"}
	GetProgramInfo                   = Entry{name: "clGetProgramInfo"}
	ReleaseCommandQueue              = Entry{name: "clReleaseCommandQueue"}
	ReleaseContext                   = Entry{name: "clReleaseContext"}
	ReleaseDevice                    = Entry{name: "clReleaseDevice"}
	ReleaseEvent                     = Entry{name: "clReleaseEvent"}
	ReleaseKernel                    = Entry{name: "clReleaseKernel"}
	ReleaseMemObject                 = Entry{name: "clReleaseMemObject"}
	ReleaseProgram                   = Entry{name: "clReleaseProgram"}
	RetainCommandQueue               = Entry{name: "clRetainCommandQueue"}
	RetainContext                    = Entry{name: "clRetainContext"}
	SetProgramSpecializationConstant = Entry{name: "clSetProgramSpecializationConstant"}
	WaitForEvents                    = Entry{name: "clWaitForEvents"}
)

// Those that the functions of this package call.
var (
	clBuildProgram                     = Entry{name: "clBuildProgram"}
	clCompileProgram                   = Entry{name: "clCompileProgram"}
	clCreateCommandQueue               = Entry{name: "clCreateCommandQueue"}
	clCreateCommandQueueWithProperties = Entry{name: "clCreateCommandQueueWithProperties"}
	clCreateKernelsInProgram           = Entry{name: "clCreateKernelsInProgram"}
	clCreateProgramWithBinary          = Entry{name: "clCreateProgramWithBinary"}
	clCreateProgramWithIL              = Entry{name: "clCreateProgramWithIL"}
	clCreateProgramWithILKHR           = Entry{name: "clCreateProgramWithILKHR"}
	clCreateProgramWithSource          = Entry{name: "clCreateProgramWithSource"}
	clCreateSubDevices                 = Entry{name: "clCreateSubDevices"}
	clGetDeviceIDs                     = Entry{name: "clGetDeviceIDs"}
	clGetDeviceInfo                    = Entry{name: "clGetDeviceInfo"}
	clGetPlatformIDs                   = Entry{name: "clGetPlatformIDs"}
	clGetPlatformInfo                  = Entry{name: "clGetPlatformInfo"}
	clSetKernelArg                     = Entry{name: "clSetKernelArg"}
	clLinkProgram                      = Entry{name: "clLinkProgram"}
)
