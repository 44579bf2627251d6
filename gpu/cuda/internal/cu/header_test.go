//go:build !nogpu

package cu

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// onlyNVIDIA skips a test, and says so, where there is no driver of NVIDIA's.
func onlyNVIDIA(t *testing.T) {
	t.Helper()
	if os.Getenv("KERNSTASH_TEST_NVIDIA") != "1" {
		t.Skip("NOT TESTED HERE: needs NVIDIA hardware; set KERNSTASH_TEST_NVIDIA=1 there")
	}
}

// TestNumbersAreThoseOfTheHeader compares this package's numbers with cuda.h.
func TestNumbersAreThoseOfTheHeader(t *testing.T) {
	var header []byte
	for _, dir := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda", "/usr"} {
		if b, err := os.ReadFile(dir + "/include/cuda.h"); err == nil && header == nil {
			header = b
		}
	}
	if header == nil {
		t.Skip("NOT TESTED HERE: there is no cuda.h (nvidia-cuda-dev, 2.8 GB; or CUDA_HOME says where)")
	}
	numbers := make(map[string]int)
	for _, m := range regexp.MustCompile(`(?m)^\s*(CUDA_[A-Z0-9_]+|CU_[A-Z0-9_]+)\s*=\s*(0x[0-9a-fA-F]+|[0-9]+)\b`).FindAllSubmatch(header, -1) {
		if n, err := strconv.ParseInt(string(m[2]), 0, 32); err == nil {
			numbers[string(m[1])] = int(n)
		}
	}
	known := map[string]int{
		"CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK": int(MaxThreadsPerBlock), "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X": int(MaxBlockDimX),
		"CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y": int(MaxBlockDimY), "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z": int(MaxBlockDimZ),
		"CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X": int(MaxGridDimX), "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y": int(MaxGridDimY),
		"CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z":              int(MaxGridDimZ),
		"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK": int(MaxSharedMemoryPerBlock), "CU_DEVICE_ATTRIBUTE_WARP_SIZE": int(WarpSize),
		"CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK": int(MaxRegistersPerBlock), "CU_DEVICE_ATTRIBUTE_CLOCK_RATE": int(ClockRate),
		"CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": int(MultiprocessorCount), "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": int(ComputeCapabilityMajor),
		"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR":          int(ComputeCapabilityMinor),
		"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": int(MaxSharedMemoryOptIn),
		"CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR":    int(MaxThreadsPerMultiprocessor),
		"CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK":               int(FunctionMaxThreadsPerBlock),
		"CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES":                   int(FunctionSharedSize),
		"CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES":                    int(FunctionConstSize),
		"CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES":                    int(FunctionLocalSize),
		"CU_FUNC_ATTRIBUTE_NUM_REGS":                            int(FunctionRegisters),
		"CU_FUNC_ATTRIBUTE_PTX_VERSION":                         int(FunctionPTXVersion),
		"CU_FUNC_ATTRIBUTE_BINARY_VERSION":                      int(FunctionBinaryVersion),
		"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES":       int(FunctionMaxDynamicShared),
		"CU_JIT_MAX_REGISTERS":                                  int(JITMaxRegisters),
		"CU_JIT_INFO_LOG_BUFFER":                                int(jitInfoLog),
		"CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES":                     int(jitInfoLogSize),
		"CU_JIT_ERROR_LOG_BUFFER":                               int(jitErrorLog),
		"CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES":                    int(jitErrorLogSize),
		"CU_JIT_OPTIMIZATION_LEVEL":                             int(JITOptimizationLevel),
		"CU_JIT_GENERATE_DEBUG_INFO":                            int(JITDebugInfo),
		"CU_JIT_LOG_VERBOSE":                                    int(JITVerbose),
		"CU_JIT_GENERATE_LINE_INFO":                             int(JITLineInfo),
		"CU_JIT_INPUT_CUBIN":                                    int(InputCubin),
		"CU_JIT_INPUT_PTX":                                      int(InputPTX),
		"CU_JIT_INPUT_FATBINARY":                                int(InputFatBinary),
		"CU_JIT_INPUT_OBJECT":                                   int(InputObject),
		"CU_JIT_INPUT_LIBRARY":                                  int(InputLibrary),
		"CU_STREAM_NON_BLOCKING":                                StreamNonBlocking,
		"CU_EVENT_DISABLE_TIMING":                               EventDisableTiming,
	}
	for code, name := range codeNames {
		known[name] = int(code)
	}
	compared := 0
	for name, ours := range known {
		n, there := numbers[name]
		if !there {
			t.Logf("%s: the header has no number for it", name)
			continue
		}
		compared++
		if n != ours {
			t.Errorf("%s is %d, here %d", name, n, ours)
		}
	}
	t.Logf("compared %d of %d", compared, len(known))
	if compared < len(known)/2 {
		t.Error("too few to mean anything")
	}
}

// TestEveryEntryPoint: the driver has all that this package calls, by the names
// that it calls them.
func TestEveryEntryPoint(t *testing.T) {
	onlyNVIDIA(t)
	if _, err := Load(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*entry{
		&cuInit, &cuDriverGetVersion, &cuDeviceGetCount, &cuDeviceGet, &cuDeviceGetName, &cuDeviceGetUuid, &cuDeviceGetAttribute,
		&cuDeviceTotalMem, &cuDeviceGetPCIBusId, &cuDevicePrimaryCtxRetain, &cuDevicePrimaryCtxRelease, &cuCtxCreate, &cuCtxDestroy,
		&cuCtxPushCurrent, &cuCtxPopCurrent, &cuCtxGetCurrent, &cuCtxGetDevice, &cuCtxSynchronize, &cuModuleLoadDataEx, &cuModuleUnload,
		&cuModuleGetFunction, &cuModuleGetGlobal, &cuModuleGetFunctionCount, &cuModuleEnumerateFunctions, &cuFuncGetName,
		&cuFuncGetAttribute, &cuFuncSetAttribute, &cuFuncGetParamInfo, &cuLinkCreate, &cuLinkAddData, &cuLinkComplete, &cuLinkDestroy,
		&cuMemAlloc, &cuMemFree, &cuMemGetInfo, &cuMemcpyHtoDAsync, &cuMemcpyDtoHAsync, &cuMemcpyDtoDAsync, &cuMemsetD8Async,
		&cuMemsetD32Async, &cuStreamCreate, &cuStreamDestroy, &cuStreamSynchronize, &cuStreamQuery, &cuStreamWaitEvent, &cuEventCreate,
		&cuEventDestroy, &cuEventRecord, &cuEventQuery, &cuEventSynchronize, &cuEventElapsedTime, &cuLaunchKernel,
	} {
		if _, err := e.find(); err != nil {
			t.Error(err)
		}
	}
}
