package compile

// Variables name a compiler, among other words maybe.
var Variables = []string{
	"TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "PYTORCH_NVCC", "FLASHINFER_NVCC", "DG_JIT_NVCC_COMPILER", "CUDACXX",
}

// Homes are variables that name a directory with compilers in its bin.
var Homes = []string{"CUDA_HOME", "CUDA_PATH"}

// Directories are patterns of directories with compilers where none is named, and Packages of those in a
// directory of packages of Python's.
var (
	Directories = []string{"/usr/local/cuda*/bin", "/opt/cuda/bin"}
	Packages    = []string{"/triton/backends/*/bin", "/nvidia/*/bin"}
)

// Launchers are variables of build systems for what they start a compiler through, with the form of the value for
// the path of the command. Nothing else changes by them: the compiler is the one that would have been started.
var Launchers = map[string]string{
	"CMAKE_CUDA_COMPILER_LAUNCHER": "%s;compile;--", // a list of CMake's, since 3.17, for a build tree that is new
	"FLASHINFER_NVCC_LAUNCHER":     "%s compile --", // words of a command in a file of ninja's
}
