package inputs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/timing"
)

// list is a section of docs/INPUTS.md: patterns of names, by what they are of.
type list struct{ file, variable []string }

const everywhere = "Every runtime"

// lists reads the document: rows "| file | `pattern` `pattern` | where it is in the key, or why not |"
// below headings.
func lists(t *testing.T) map[string]*list {
	t.Helper()
	b, err := os.ReadFile("../../docs/INPUTS.md")
	if err != nil {
		t.Fatal(err)
	}
	all, quoted := make(map[string]*list), regexp.MustCompile("`([^`]+)`")
	var now *list
	for line := range strings.Lines(string(b)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			now = new(list)
			all[strings.TrimSpace(heading)] = now
			continue
		}
		cells := strings.Split(line, "|")
		if now == nil || len(cells) < 4 {
			continue
		}
		if len(cells) != 5 {
			t.Errorf("%d cells: %s", len(cells), line)
			continue
		}
		var names []string
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			names = append(names, m[1])
		}
		kind := strings.TrimSpace(cells[1])
		if (kind == "file" || kind == "variable") && (len(names) == 0 || strings.TrimSpace(cells[3]) == "") {
			t.Errorf("no name, or no reason: %s", line)
		}
		switch kind {
		case "file":
			now.file = append(now.file, names...)
		case "variable":
			now.variable = append(now.variable, names...)
		}
	}
	return all
}

// matches reports whether a name is one of the patterns, in which * is anything, or which begin with
// ~ and are regular expressions.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		expression, is := strings.CutPrefix(p, "~")
		if !is {
			expression = strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*")
		}
		return regexp.MustCompile("^(?:" + expression + ")$").MatchString(name)
	})
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"/usr/share/pocl/*", "/usr/share/pocl/include/pocl.h", true},
		{"/usr/share/pocl/*", "/opt/usr/share/pocl/x", false},
		{"POCL_*", "POCL_BUILDING", true},
		{"POCL_*", "XPOCL_", false},
		{"a.c", "abc", false},
		{"~[A-Z][a-z]+", "Print", true},
		{"~[A-Z][a-z]+", "PRINT", false},
	} {
		if got := matches([]string{c.pattern}, c.name); got != c.want {
			t.Errorf("%s, %s: %v", c.pattern, c.name, got)
		}
	}
}

// runtimes are compiles of each runtime, and what the strings of its libraries are searched
// for. A library that its driver opens with RTLD_DEEPBIND asks for no variable by way of the recorder.
var runtimes = []struct {
	name      string
	source    string // of the program, in C
	flags     []string
	args      []string
	environ   []string
	libraries []string // patterns
	strings   string   // variables among their strings
}{
	{
		"PoCL 3.1", "testdata/opencl.c",
		[]string{"-lOpenCL"},
		nil,
		[]string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd"},
		[]string{"/usr/lib/*/libpocl.so.2.*"},
		`POCL_[A-Z0-9_]{2,}`,
	},
	{
		"Intel's driver 22.43, OpenCL", "testdata/opencl.c",
		[]string{"-lOpenCL"},
		nil,
		[]string{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/intel.icd", "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"},
		[]string{"/usr/lib/*/intel-opencl/libigdrcl.so", "/usr/lib/*/libigc.so.1", "/usr/lib/*/libigdfcl.so.1"},
		`IGC_[A-Za-z]{2,}|cl_cache_dir|ZE_[A-Z_]{2,}`,
	},
	{
		"Intel's driver 22.43, Level Zero", "../../shim/levelzero/testdata/host.c",
		[]string{"-lze_loader", "-ldl"},
		[]string{"loop-1", "../../gpu/levelzero/testdata"},
		[]string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp"},
		[]string{"/usr/lib/*/libze_intel_gpu.so.1"},
		`l0_cache_dir|ZET?_[A-Z_]*ENABLE[A-Z_]*`,
	},
	{
		"NVRTC 11.8", "testdata/rtc.c",
		[]string{"-ldl"},
		[]string{"libnvrtc.so.11.2", "nvrtc", "--gpu-architecture=sm_80"},
		nil,
		[]string{"/usr/lib/*/libnvrtc.so.11.2"},
		`NVRTC_[A-Z]+_(FLAGS|LOCK)|EDG_(BASE|MODULES_PATH)|NVRTCWIZ`,
	},
	{
		"ptxas 11.8 to 13.0", "testdata/exec.c",
		nil,
		[]string{"../../bin/ptxas", "-arch=sm_80", "-lineinfo", "k.ptx", "-o", "k.cubin"},
		nil,
		[]string{"../../bin/ptxas"},
		`DUMP_[A-Z_]+|PTXAS_[A-Z_]+|NV[A-Z]+_[A-Z_]+FLAGS`,
	},
	{
		"HIPRTC 5.2", "testdata/rtc.c",
		[]string{"-ldl"},
		[]string{"libamdhip64.so.5", "hiprtc", "--gpu-architecture=gfx90a"},
		nil,
		[]string{"/usr/lib/*/libamd_comgr.so.2"},
		`AMD_COMGR_(SAVE|REDIRECT|EMIT|TIME)[A-Z_]*|HIP_[A-Z_]*PATH|ROCM_PATH|LLVM_PATH`,
	},
}

// What a compile reads, as the kernel sees it, and which variables it asks for, stand in
// docs/INPUTS.md: what is new is to be looked at.
func TestInputsAreListed(t *testing.T) {
	all := lists(t)
	recorder := compiled(t, "testdata/record.c", "record.so", "-shared", "-fPIC", "-ldl")
	for _, r := range runtimes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(r.name, "NVRTC") && !strings.HasPrefix(r.name, "ptxas") {
				timing.Long(t)
			}
			own, common := all[r.name], all[everywhere]
			if own == nil || common == nil {
				t.Fatal("it has no section")
			}
			if found, _ := filepath.Glob(r.libraries[0]); len(found) == 0 {
				needs.Missing(t, "there is no "+r.libraries[0], "what scripts/drivers test installs")
			}
			program := compiled(t, r.source, "program", r.flags...)
			files, variables := observed(t, recorder, program, r.args, r.environ)
			for _, f := range files {
				if !matches(common.file, f) && !matches(own.file, f) {
					t.Errorf("file: %s", f)
				}
			}
			for _, v := range append(variables, inStrings(t, r.libraries, r.strings)...) {
				if !matches(common.variable, v) && !matches(own.variable, v) {
					t.Errorf("variable: %s", v)
				}
			}
			t.Logf("%d files, %d variables", len(files), len(variables))
		})
	}
}

func compiled(t *testing.T, source, name string, flags ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("cc", append([]string{"-o", to, source}, flags...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}

// observed runs a program and returns the paths that it and its children gave to the kernel, and
// the variables that its libraries asked for.
func observed(t *testing.T, recorder, program string, args, environ []string) (files, variables []string) {
	t.Helper()
	dir := t.TempDir()
	trace, record := filepath.Join(dir, "trace"), filepath.Join(dir, "record")
	for i, a := range args {
		if strings.HasPrefix(a, "../") {
			args[i], _ = filepath.Abs(a)
		}
	}
	run := func(cmd *exec.Cmd, more ...string) {
		t.Helper()
		cmd.Dir = t.TempDir()
		cmd.Env = append([]string{
			"PATH=/usr/bin:/bin", "HOME=/home/nobody", "POCL_CACHE_DIR=" + filepath.Join(dir, "pocl"),
		}, append(environ, more...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := os.RemoveAll(filepath.Join(dir, "pocl")); err != nil {
			t.Fatal(err)
		}
	}
	run(exec.Command("strace", append([]string{"-f", "-qq", "-s", "4096", "-e", "trace=%file", "-o", trace, program}, args...)...))
	run(exec.Command(program, args...), "LD_PRELOAD="+recorder, "KERNSTASH_RECORD="+record)

	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	path := regexp.MustCompile(`^[0-9]+ +[a-z0-9_]+\((?:[^",]*, )?"([^"]+)"`)
	for line := range strings.Lines(string(text)) {
		m := path.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f := filepath.Clean(m[1])
		if real, err := filepath.EvalSymlinks(m[1]); err == nil && filepath.IsAbs(f) && !strings.HasPrefix(f, "/proc/") {
			f = real
		}
		own := func(p string) bool { return strings.HasPrefix(f, p) && filepath.IsAbs(p) }
		if !own(filepath.Dir(dir)) && !own(filepath.Dir(filepath.Dir(program))) && !slices.ContainsFunc(args, own) {
			seen[f] = true
		}
	}
	if text, err = os.ReadFile(record); err != nil {
		t.Fatal(err)
	}
	asked := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		asked[name] = true
	}
	return slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(asked))
}

// inStrings returns what libraries hold of an expression, as whole strings.
func inStrings(t *testing.T, libraries []string, expression string) []string {
	t.Helper()
	found, is := make(map[string]bool), regexp.MustCompile(`\x00(`+expression+`)\x00`)
	for _, pattern := range libraries {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for len(b) > 0 {
				m := is.FindSubmatchIndex(b)
				if m == nil {
					break
				}
				found[string(b[m[2]:m[3]])] = true
				b = b[m[3]:] // the NUL may begin the next
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
