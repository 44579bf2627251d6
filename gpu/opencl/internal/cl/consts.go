package cl

// The handles of objects: cl_platform_id, cl_device_id, cl_context and so on.
type (
	PlatformID uintptr
	DeviceID   uintptr
	ContextID  uintptr
	QueueID    uintptr
	ProgramID  uintptr
	KernelID   uintptr
	EventID    uintptr
)

// The parameters of queries and the flags of objects that are used here, with
// their names in CL/cl.h and CL/cl_ext.h: DeviceName is CL_DEVICE_NAME.
const (
	PlatformVersion      = 0x0901
	PlatformName         = 0x0902
	PlatformVendor       = 0x0903
	PlatformExtensions   = 0x0904
	PlatformICDSuffixKHR = 0x0920

	DeviceTypeInfo          = 0x1000 // CL_DEVICE_TYPE
	DeviceVendorID          = 0x1001
	DeviceMaxComputeUnits   = 0x1002
	DeviceMaxWorkGroupSize  = 0x1004
	DeviceMaxWorkItemSizes  = 0x1005
	DeviceMaxClockFrequency = 0x100C
	DeviceAddressBits       = 0x100D
	DeviceMaxMemAllocSize   = 0x1010
	DeviceImage2DMaxWidth   = 0x1011
	DeviceImage2DMaxHeight  = 0x1012
	DeviceImageSupport      = 0x1016
	DeviceGlobalMemSize     = 0x101F
	DeviceLocalMemSize      = 0x1023
	DeviceNameInfo          = 0x102B // CL_DEVICE_NAME
	DeviceVendor            = 0x102C
	DriverVersion           = 0x102D
	DeviceVersion           = 0x102F
	DeviceExtensions        = 0x1030
	DevicePlatform          = 0x1031
	DeviceOpenCLCVersion    = 0x103D
	DeviceParentDevice      = 0x1042
	DeviceILVersion         = 0x105B

	DeviceComputeCapabilityMajorNV = 0x4000
	DeviceComputeCapabilityMinorNV = 0x4001
	DeviceBoardNameAMD             = 0x4038
	DeviceIPVersionIntel           = 0x4250
	DevicePCIBusInfo               = 0x410F
	DeviceIDIntel                  = 0x4251

	DevicePartitionEqually       = 0x1086
	DevicePartitionByCounts      = 0x1087
	DevicePartitionByCountsEnd   = 0x0
	ContextPlatform              = 0x1084
	ContextDevices               = 0x1081
	QueueProperties              = 0x1093
	QueueOutOfOrderExecMode      = 1 << 0
	QueueProfiling               = 1 << 1
	ProgramDevices               = 0x1163
	ProgramBinarySizes           = 0x1165
	ProgramBinaries              = 0x1166
	ProgramKernelNames           = 0x1168
	ProgramBuildLog              = 0x1183
	KernelFunctionName           = 0x1190
	KernelNumArgs                = 0x1191
	KernelAttributes             = 0x1195
	KernelArgAddressQualifier    = 0x1196
	KernelArgAccessQualifier     = 0x1197
	KernelArgTypeName            = 0x1198
	KernelArgTypeQualifier       = 0x1199
	KernelArgName                = 0x119A
	KernelWorkGroupSize          = 0x11B0
	KernelCompileWorkGroupSize   = 0x11B1
	KernelLocalMemSize           = 0x11B2
	KernelPreferredWorkGroupSize = 0x11B3 // CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE
	EventCommandExecutionStatus  = 0x11D3
	ProfilingCommandQueued       = 0x1280 // then submit, start, end
	MemObjectImage2D             = 0x10F1
	MemReadWrite                 = 1 << 0 // bits of cl_mem_flags
	MemWriteOnly                 = 1 << 1
	MemReadOnly                  = 1 << 2
)
