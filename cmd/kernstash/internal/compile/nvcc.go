package compile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/pattern"
	"github.com/kernstash/kernstash/key"
)

// nvcc is NVIDIA's compiler of CUDA C++, which starts a dozen of others. What they read is found by
// tracing them.
var nvcc = compiler{names: []string{"nvcc"}, read: readNVCC, messages: nvccMessages, traced: true}

// nvccOptions are those of 12.4 to 13.0 that say what is written of one input, and nothing but
// that. Not here: those that link, that write other files or to standard output, that only show, and
// --device-debug.
var nvccOptions = options{
	valued: []string{
		"--output-file", "-o", "--dependency-output", "-MF", "--dependency-target-name", "-MT",
		"--pre-include", "-include", "--define-macro", "-D", "--undefine-macro", "-U",
		"--include-path", "-I", "--system-include", "-isystem", "--compiler-bindir", "-ccbin",
		"--optimize", "-O", "--dopt", "-dopt", "--x", "-x", "--std", "-std", "--machine", "-m",
		"--ftemplate-backtrace-limit", "-ftemplate-backtrace-limit", "--ftemplate-depth", "-ftemplate-depth",
		"--compiler-options", "-Xcompiler", "--ptxas-options", "-Xptxas", "--cudafe-options", "-Xcudafe",
		"--fatbin-options", "-Xfatbin", "--threads", "-t", "--split-compile", "-split-compile",
		"--gpu-architecture", "-arch", "--gpu-code", "-code", "--generate-code", "-gencode",
		"--relocatable-device-code", "-rdc", "--maxrregcount", "-maxrregcount", "--ftz", "-ftz",
		"--prec-div", "-prec-div", "--prec-sqrt", "-prec-sqrt", "--fmad", "-fmad", "--default-stream", "-default-stream",
		"--Werror", "-Werror", "--diag-error", "-diag-error", "--diag-suppress", "-diag-suppress", "--diag-warn", "-diag-warn",
		"--brief-diagnostics", "-brief-diag", "--jump-table-density", "-jtd", "--cudart", "-cudart",
		"--static-global-template-stub", "-static-global-template-stub",
		"--device-entity-has-hidden-visibility", "-device-entity-has-hidden-visibility",
	},
	joined: []string{"-D", "-U", "-I", "-O"},
	flags: []string{
		"--compile", "-c", "--cubin", "-cubin", "--ptx", "-ptx", "--fatbin", "-fatbin",
		"--generate-dependencies-with-compile", "-MD", "--generate-nonsystem-dependencies-with-compile", "-MMD",
		"--generate-dependency-targets", "-MP", "--allow-unsupported-compiler", "-allow-unsupported-compiler",
		"--debug", "-g", "--generate-line-info", "-lineinfo", "--no-exceptions", "-noeh", "--m64", "-m64",
		"--no-host-device-initializer-list", "-nohdinitlist", "--no-host-device-move-forward", "-nohdmoveforward",
		"--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "--extended-lambda", "-extended-lambda",
		"--expt-extended-lambda", "-expt-extended-lambda",
		"--forward-unknown-to-host-compiler", "-forward-unknown-to-host-compiler",
		"--no-align-double", "--no-align-double", "--use_fast_math", "-use_fast_math",
		"--extra-device-vectorization", "-extra-device-vectorization", "--disable-warnings", "-w",
		"--keep-device-functions", "-keep-device-functions", "--restrict", "-restrict",
		"--Wreorder", "-Wreorder", "--Wdefault-stream-launch", "-Wdefault-stream-launch",
		"--Wmissing-launch-bounds", "-Wmissing-launch-bounds", "--Wext-lambda-captures-this", "-Wext-lambda-captures-this",
		"--Wno-deprecated-declarations", "-Wno-deprecated-declarations",
		"--Wno-deprecated-gpu-targets", "-Wno-deprecated-gpu-targets", "--resource-usage", "-res-usage",
		"--extensible-whole-program", "-ewp", "--no-compress", "-no-compress", "--compile-as-tools-patch", "-astoolspatch",
		"--display-error-number", "-err-no", "--no-display-error-number", "-no-err-no",
	},
}

// obeyed are the variables that nvcc and the programs that it starts ask for (traced, and their
// strings: 12.4, GCC 12), or what these begin with. MAKEFLAGS is none: GCC asks it for make's job server, for links
// alone, and it is another one in each run of make. Nor is TERM: it matters to those whose standard error is a terminal, and here
// that is a pipe.
var obeyed = strings.Fields(`
	PATH= PWD= TERM_URLS= COLUMNS= LANG= LANGUAGE= LC_ TZ= SOURCE_DATE_EPOCH= NOCOLOR= TMP TEMP MALLOC_CONF= bar=
	NVCC CUDAFE_FLAGS= INCLUDES= SYSTEM_INCLUDES= LIBRARIES= LLVM NVASM_FLAGS= NVDISASM_FLAGS= NVLINK_FLAGS= NVVM OCG_FLAGS= PTXAS_FLAGS=
	FATBINARY_FLAGS= CICC TOP= _HERE_= _THERE_= _NVVM_BRANCH_= _TARGET_ _SPACE_= _CUDART_= compiler-bindir= LIBNVVM_ EDG_ USR_INCLUDE= NVVMCCWIZ=
	GCC_ CPATH= C_INCLUDE_PATH= CPLUS_INCLUDE_PATH= COMPILER_PATH= LIBRARY_PATH= LPATH= DEPENDENCIES_OUTPUT= SUNPRO_DEPENDENCIES=
	COLLECT_ SYSROOT= ASAN_OPTIONS= LD_ GLIBC_TUNABLES= LOCPATH= GCONV_PATH= NLSPATH= POSIXLY_CORRECT= BASH SHELLOPTS= ENV=`)

// refused are variables with which compilers, or the loader, do other things beside.
var refused = []string{"DUMP_KNOBS_TO_FILE", "CAN_FINALIZE_DEBUG", "AS_SECURE_LOG_FILE", "LD_AUDIT", "LD_DEBUG", "LD_PROFILE", "LD_TRACE_LOADED_OBJECTS"}

// Programs that take part are known by name: others may ask for the time, or for variables. What a wrapper starts is
// often called real.
var programs = pattern.Lazy(`^(nvcc|cicc|cudafe\+\+|ptxas|fatbinary|sh|dash|bash|cc1|cc1plus|([a-z0-9_]+(-[a-z0-9]+)?-linux-gnu-)?(gcc|g\+\+|c\+\+|cc|cpp|as)(-[0-9.]+)?([.-]real)?)$`)

// Files that are no files, of which nothing gets into what is made (traced: 12.4, GCC 12): who asks for the
// path of its own program, what jemalloc in cicc asks for, the name of a temporary file of cicc, the number of
// threads, and where output goes to be forgotten.
var neutral = pattern.Lazy(`^/(proc/(self|[0-9]+)/exe|proc/sys/vm/overcommit_memory|sys/devices/system/cpu/online|dev/urandom|dev/null)$`)

// terminal is what a shell opens to see whether there is one, and no other program.
const terminal = "/dev/tty"

// modes are the options that say what is made, with the suffix of an output that has no name.
var modes = map[string]string{"--compile": ".o", "--cubin": ".cubin", "--ptx": ".ptx", "--fatbin": ".fatbin"}

func readNVCC(args []string, getenv func(string) string) (*invocation, error) {
	for i, name := range []string{"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"} {
		value := getenv(name)
		if strings.ContainsAny(value, "\"'\\") {
			return nil, fmt.Errorf("quotes in %s", name)
		}
		if words := strings.Fields(value); i == 0 {
			args = append(words, args...)
		} else {
			args = append(slices.Clone(args), words...)
		}
	}
	for _, word := range append([]string{getenv("NVCC_CCBIN")}, args...) {
		if strings.Contains(word, "=native") { // the processor's, or the GPU's
			return nil, fmt.Errorf("what is native here, %s", word)
		}
		if strings.HasPrefix(word, "@") {
			return nil, fmt.Errorf("options in a file, %s", word)
		}
		if strings.ContainsAny(word, "$`\x00") { // nvcc has a shell run its commands
			return nil, fmt.Errorf("what a shell expands, %s", word)
		}
		for _, name := range timeNames {
			if strings.Contains(word, name) {
				return nil, errors.New(name)
			}
		}
	}
	l, err := nvccOptions.split(args)
	if err != nil {
		return nil, err
	}
	v := &invocation{kind: key.Opaque}
	return v, v.readNVCC(&l)
}

var timeNames = []string{"__DATE__", "__TIME__", "__TIMESTAMP__"}

// readNVCC takes in what the options mean.
func (v *invocation) readNVCC(l *commandLine) (err error) {
	if len(l.others) != 1 {
		return errors.New("not one input")
	}
	v.input = l.others[0]
	suffix, fits, depends, named := "", strings.HasSuffix(v.input, ".cu"), false, false
	for _, o := range l.options {
		if as, ok := modes[o.name]; ok {
			if suffix != "" {
				return errors.New("more than one thing to make")
			}
			suffix = as
		}
		switch o.name {
		case "--x":
			fits = o.argument == "cu"
		case "--generate-dependencies-with-compile", "--generate-nonsystem-dependencies-with-compile":
			depends = true
		case "--dependency-target-name":
			named = true
		case "--generate-line-info":
			v.timed = true // ptxas writes the time of the input
		default:
			err = checkNVCC(o.name, o.argument)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case suffix == "":
		return errors.New("none of -c, -cubin, -ptx, -fatbin")
	case !fits:
		return errors.New("the input is no CUDA C++")
	}
	base := filepath.Base(v.input)
	v.output = strings.TrimSuffix(base, filepath.Ext(base)) + suffix
	if slices.ContainsFunc(l.options, func(o option) bool { return o.name == "--output-file" }) {
		if v.output, err = l.take("--output-file"); err != nil {
			return err
		}
	}
	v.replaces = suffix == ".o"
	if depends {
		if v.depends, err = l.take("--dependency-output"); err != nil {
			return fmt.Errorf("a dependency file, and %w", err)
		}
	}
	if v.code, err = readInput(v.input); err != nil {
		return err
	}
	v.attributes = append(l.attributes(), key.Pair{Name: "input", Value: v.input})
	if depends && !named { // it names the output
		v.attributes = append(v.attributes, key.Pair{Name: "output", Value: v.output})
	}
	return nil
}

// checkNVCC returns an error where an argument may have what the option in general has not.
func checkNVCC(name, argument string) error {
	ok := true
	switch name {
	case "--relocatable-device-code":
		ok = argument == "false"
	case "--gpu-architecture", "--gpu-code", "--generate-code":
		ok = !strings.Contains(argument, "native")
	case "--split-compile":
		ok = argument != "0" // as many as there are processors
	case "--compiler-options":
		ok = all(argument, isHostOption)
	case "--ptxas-options":
		l, err := ptxasOptions.split(wordsOf(argument))
		ok = err == nil && len(l.others) == 0 && !slices.ContainsFunc(l.options, func(o option) bool { return o.name == "--output-file" })
	case "--cudafe-options":
		ok = all(argument, func(w string) bool { return strings.HasPrefix(w, "--diag_") || w == "--display_error_number" })
	case "--fatbin-options":
		ok = all(argument, func(w string) bool { return strings.HasPrefix(strings.TrimLeft(w, "-"), "compress-") })
	}
	if !ok {
		return fmt.Errorf("option %s=%s", name, argument)
	}
	return nil
}

// wordsOf returns the words of a list of options for another program.
func wordsOf(list string) []string {
	return strings.FieldsFunc(strings.Trim(list, "'"), func(c rune) bool { return c == ',' || c == ' ' })
}

func all(list string, ok func(word string) bool) bool {
	return !slices.ContainsFunc(wordsOf(list), func(w string) bool { return !ok(w) })
}

// isHostOption reports whether an option of GCC says only what its output is.
func isHostOption(word string) bool {
	begins := func(with []string) bool {
		return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(word, w) })
	}
	return begins([]string{"-f", "-W", "-O", "-g", "-m", "-D", "-U", "-I", "-std=", "-w", "-ansi", "-pedantic", "-pthread"}) &&
		!begins([]string{
			"-fplugin", "-fprofile", "-fauto-profile", "-fdump", "-fopt-info", "-fcallgraph-info", "-fstack-usage", "-frecord-gcc-switches",
			"-fsave-optimization-record", "-ftest-coverage", "-gsplit-dwarf",
		}) && !slices.Contains([]string{"-Wa", "-Wp", "-Wl"}, word) && !strings.ContainsAny(word, "\\\"'")
}

// nvccMessages takes messages as they are: the input's name is in the key, and that of a temporary file, tmpxft_
// and the number of a process, is another one in each run of nvcc.
func nvccMessages(text, _, _ string) (renamed string, ok bool) { return text, true }

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
