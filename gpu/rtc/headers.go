package rtc

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/key"
)

// included returns the headers in memory that a program may include: all of them, unless
// every include of the source, and of the headers so included, names one of them plainly.
// Names count by what is behind their last slash, since a header may be looked for beside
// the one that includes it.
func (l *Library) included(source []byte, headers []key.Header, options []string) []key.Header {
	includes := func(o string) bool { return strings.HasPrefix(o, "--pre-include") || strings.HasPrefix(o, "-include") }
	if l.api != NVRTC || slices.ContainsFunc(options, includes) {
		return headers // HIPRTC includes some by itself, as hiprtc_runtime.h
	}
	given := make(map[string]bool, len(headers))
	called := make(map[string][]int, len(headers)) // by the last part of their names
	for i, h := range headers {
		base := path.Base(h.Name)
		if given[h.Name] || strings.HasPrefix(base, "__") {
			return headers // the core refuses the one; NVRTC itself may include the other, as __nv_name_map
		}
		given[h.Name] = true
		called[base] = append(called[base], i)
	}
	used := make([]bool, len(headers))
	for texts := [][]byte{source}; len(texts) > 0; texts = texts[1:] {
		names, sure := deps.Includes(key.CUDACpp, texts[0])
		if !sure {
			return headers
		}
		for _, name := range names {
			if !given[name] {
				return headers // a file, which may include any of them
			}
			base := path.Base(name)
			for _, i := range called[base] {
				used[i] = true
				texts = append(texts, headers[i].Content)
			}
			delete(called, base)
		}
	}
	some := make([]key.Header, 0, len(headers))
	for i, h := range headers {
		if used[i] {
			some = append(some, h)
		}
	}
	return slices.Clip(some)
}

// errHeaders is wrapped where it is not known where a library looks for header files.
var errHeaders = errors.New("where this compiler looks for header files was not found out")

// headerSearch returns where the library looks for the header files of a program, besides the directories
// that options name, while dir is the working directory. units are those of the program, of one that has
// a name. The error says that this is not known.
//
// It was seen in the system calls of compiles that look for headers and do not find them, of NVRTC 11.8 and HIPRTC
// 5.2.3. NVRTC looks in the directory of the program's name, and in those of the options. HIPRTC, which
// knows no name, in a folder of its own, in those of the options, and in those of the system's compiler.
func (l *Library) headerSearch(dir, name string, units func() []key.Unit) (deps.Search, error) {
	if l.api == NVRTC {
		main := NameDir(name)
		if main != "" && !deps.ReadsBeside(units()[0]) {
			main = "" // nothing is looked for there but headers in memory
		}
		if !filepath.IsAbs(main) {
			main = filepath.Join(dir, main)
		}
		return deps.Search{Main: main}, nil
	}
	system, err := l.systemHeaders()
	// Where it believes the source to be nothing else is: a name that leads nowhere.
	return deps.Search{Main: "/proc/self/kernstash", System: system}, err
}

// systemHeaders are the directories that HIPRTC's clang takes from the system.
func (l *Library) systemHeaders() ([]string, error) {
	// It calls itself 9.0, as later releases do.
	if !strings.HasPrefix(filepath.Base(l.path), "libamdhip64.so.5.2.") || runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("%s: %w", filepath.Base(l.path), errHeaders)
	}
	if elsewhere := l.looksElsewhere(); elsewhere != "" {
		return nil, fmt.Errorf("%s beside %s: %w", l.d.platform, elsewhere, errHeaders)
	}
	const triple = "x86_64-linux-gnu"
	var gcc []string
	// Those of other architectures are none to it.
	for _, pattern := range []string{
		"/usr/lib/gcc/x86_64-*linux*/*/crtbegin.o", "/usr/lib64/gcc/x86_64-*linux*/*/crtbegin.o", "/opt/rh/*",
		"/usr/lib/gcc-cross/x86_64-*", "/usr/lib/gcc-cross/i?86-*",
	} {
		found, _ := filepath.Glob(pattern)
		gcc = append(gcc, found...)
	}
	var dirs []string
	switch {
	case len(gcc) == 0:
	case len(gcc) == 1 && filepath.Base(filepath.Dir(filepath.Dir(gcc[0]))) == triple:
		version := filepath.Base(filepath.Dir(gcc[0]))
		dirs = []string{"/usr/include/c++/" + version, "/usr/include/" + triple + "/c++/" + version, "/usr/include/c++/" + version + "/backward"}
	default: // which of them it takes is clang's own art
		return nil, fmt.Errorf("%s beside several GCCs: %w", l.d.platform, errHeaders)
	}
	return append(dirs, "/usr/include/clang/15.0.6/include", "/usr/local/include", "/usr/include/"+triple, "/usr/include"), nil
}

// elsewhere are the variables that have HIPRTC's clang look in other directories, and the
// directories that it looks in where they are (strace of 5.2.3).
var elsewhere = struct{ variables, directories []string }{
	[]string{
		"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "OBJCPLUS_INCLUDE_PATH",
		"ROCM_PATH", "HIP_PATH", "LLVM_PATH", "COMPILER_PATH",
	},
	[]string{"/opt/rocm", "/usr/lib/include", "/usr/lib/hip/include", "/usr/lib/llvm/lib/clang", "/include", "lib/clang"},
}

// looksElsewhere returns what of that there is; "" for nothing.
func (l *Library) looksElsewhere() string {
	for _, e := range dl.Environ() {
		if name, value, _ := strings.Cut(e, "="); value != "" && slices.Contains(elsewhere.variables, name) {
			return name
		}
	}
	for _, dir := range elsewhere.directories {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return ""
}
