//go:build !nogpu

package cuda

import (
	"embed"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
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
		b, err := os.ReadFile(needs.CUDA(t) + "/include/cuda.h")
		if err != nil {
			t.Fatal(err)
		}
		header = b
	}
	numbers := make(map[string]int)
	for _, m := range regexp.MustCompile(`(?m)^\s*(CUDA_[A-Z0-9_]+|CU_[A-Z0-9_]+)\s*=\s*(0x[0-9a-fA-F]+|[0-9]+)\b`).FindAllSubmatch(header, -1) {
		if n, err := strconv.ParseInt(string(m[2]), 0, 32); err == nil {
			numbers[string(m[1])] = int(n)
		}
	}
	known := map[string]int{
		"CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK": int(maxThreadsPerBlock), "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X": int(maxBlockDimX),
		"CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y": int(maxBlockDimY), "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z": int(maxBlockDimZ),
		"CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X": int(maxGridDimX), "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y": int(maxGridDimY),
		"CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z":              int(maxGridDimZ),
		"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK": int(maxSharedMemoryPerBlock), "CU_DEVICE_ATTRIBUTE_WARP_SIZE": int(warpSize),
		"CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK": int(maxRegistersPerBlock), "CU_DEVICE_ATTRIBUTE_CLOCK_RATE": int(clockRate),
		"CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": int(multiprocessorCount), "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": int(capabilityMajor),
		"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR":          int(capabilityMinor),
		"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": int(maxSharedMemoryOptIn),
		"CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK":               int(functionMaxThreads),
		"CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES":                   int(functionSharedSize),
		"CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES":                    int(functionConstSize),
		"CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES":                    int(functionLocalSize),
		"CU_FUNC_ATTRIBUTE_NUM_REGS":                            int(functionRegisters),
		"CU_FUNC_ATTRIBUTE_BINARY_VERSION":                      int(functionBinaryVersion),
		"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES":       int(functionMaxDynamicShared),
		"CU_JIT_MAX_REGISTERS":                                  int(jitMaxRegisters),
		"CU_JIT_INFO_LOG_BUFFER":                                int(jitInfoLog),
		"CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES":                     int(jitInfoLogSize),
		"CU_JIT_ERROR_LOG_BUFFER":                               int(jitErrorLog),
		"CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES":                    int(jitErrorLogSize),
		"CU_JIT_OPTIMIZATION_LEVEL":                             int(jitOptimizationLevel),
		"CU_JIT_GENERATE_DEBUG_INFO":                            int(jitDebugInfo),
		"CU_JIT_LOG_VERBOSE":                                    int(jitVerbose),
		"CU_JIT_GENERATE_LINE_INFO":                             int(jitLineInfo),
		"CU_JIT_INPUT_PTX":                                      inputPTX,
		"CU_STREAM_NON_BLOCKING":                                streamNonBlocking,
	}
	for name, code := range codeNames {
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

//go:embed *.go
var sources embed.FS

// TestEveryEntryPoint: the driver has all that this package calls, by the names
// that it calls them.
func TestEveryEntryPoint(t *testing.T) {
	onlyNVIDIA(t)
	files, err := fs.Glob(sources, "*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(sources, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`"(cu[A-Z]\w+)"`).FindAllSubmatch(text, -1) {
			n++
			if _, err := find(string(name[1])); err != nil {
				t.Error(err)
			}
		}
	}
	if n < 50 {
		t.Errorf("%d names of functions, there are more", n)
	}
}

var codeNames = map[string]Code{
	"CUDA_ERROR_INVALID_VALUE":                  InvalidValue,
	"CUDA_ERROR_OUT_OF_MEMORY":                  OutOfMemory,
	"CUDA_ERROR_NOT_INITIALIZED":                NotInitialized,
	"CUDA_ERROR_DEINITIALIZED":                  Deinitialized,
	"CUDA_ERROR_STUB_LIBRARY":                   StubLibrary,
	"CUDA_ERROR_DEVICE_UNAVAILABLE":             DeviceUnavailable,
	"CUDA_ERROR_NO_DEVICE":                      NoDevice,
	"CUDA_ERROR_INVALID_DEVICE":                 InvalidDevice,
	"CUDA_ERROR_DEVICE_NOT_LICENSED":            DeviceNotLicensed,
	"CUDA_ERROR_INVALID_IMAGE":                  InvalidImage,
	"CUDA_ERROR_INVALID_CONTEXT":                InvalidContext,
	"CUDA_ERROR_NO_BINARY_FOR_GPU":              NoBinaryForGPU,
	"CUDA_ERROR_ECC_UNCORRECTABLE":              ECCUncorrectable,
	"CUDA_ERROR_INVALID_PTX":                    InvalidPTX,
	"CUDA_ERROR_JIT_COMPILER_NOT_FOUND":         JITCompilerNotFound,
	"CUDA_ERROR_UNSUPPORTED_PTX_VERSION":        UnsupportedPTXVersion,
	"CUDA_ERROR_JIT_COMPILATION_DISABLED":       JITCompilationDisabled,
	"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC":       UnsupportedDevsideSync,
	"CUDA_ERROR_INVALID_SOURCE":                 InvalidSource,
	"CUDA_ERROR_FILE_NOT_FOUND":                 FileNotFound,
	"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND": SharedObjectSymbolNotFound,
	"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED":      SharedObjectInitFailed,
	"CUDA_ERROR_OPERATING_SYSTEM":               OperatingSystem,
	"CUDA_ERROR_INVALID_HANDLE":                 InvalidHandle,
	"CUDA_ERROR_NOT_FOUND":                      NotFound,
	"CUDA_ERROR_NOT_READY":                      NotReady,
	"CUDA_ERROR_ILLEGAL_ADDRESS":                IllegalAddress,
	"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES":        LaunchOutOfResources,
	"CUDA_ERROR_LAUNCH_TIMEOUT":                 LaunchTimeout,
	"CUDA_ERROR_CONTEXT_IS_DESTROYED":           ContextIsDestroyed,
	"CUDA_ERROR_ASSERT":                         Assert,
	"CUDA_ERROR_ILLEGAL_INSTRUCTION":            IllegalInstruction,
	"CUDA_ERROR_MISALIGNED_ADDRESS":             MisalignedAddress,
	"CUDA_ERROR_LAUNCH_FAILED":                  LaunchFailed,
	"CUDA_ERROR_NOT_PERMITTED":                  NotPermitted,
	"CUDA_ERROR_NOT_SUPPORTED":                  NotSupported,
	"CUDA_ERROR_SYSTEM_NOT_READY":               SystemNotReady,
	"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH":         SystemDriverMismatch,
	"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": CompatNotSupportedOnDevice,
	"CUDA_ERROR_UNKNOWN":                        UnknownError,
}
