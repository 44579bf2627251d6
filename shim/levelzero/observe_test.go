//go:build linux

package levelzero_shim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// All that an application can see of modules is the same without the shim (twice in the long
// form: the control), with a cold cache, and with a warm one.
func TestObservedTheSame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	args := []string{filepath.Join(built, "data"), "modules,images,constants,links,several,wrong,native,launch"}
	without := normal(s.mustRun(t, nil, "observe", args...).out)
	if timing.IsLong() {
		if diff := cmp.Diff(without, normal(s.mustRun(t, nil, "observe", args...).out)); diff != "" {
			t.Fatalf("the control differs:\n%s", diff)
		}
	}
	env := s.shimmed(t)
	cold := s.mustRun(t, env, "observe", args...)
	if diff := cmp.Diff(without, normal(cold.out)); diff != "" {
		t.Errorf("cold:\n%s", diff)
	}
	warm := s.mustRun(t, env, "observe", args...)
	if diff := cmp.Diff(without, normal(warm.out)); diff != "" {
		t.Errorf("warm:\n%s", diff)
	}
	// Each module is made twice, or with links twice; nothing else is compiled a second time.
	if n := cold.count("compiled"); n < 15 {
		t.Errorf("cold: %d compiled", n)
	}
	if n := warm.count("disk"); n < 30 {
		t.Errorf("warm: %d restored", n)
	}
	for _, e := range warm.events {
		if e.Outcome == "compiled" && !strings.Contains(e.Reason, "-nonsense") {
			t.Errorf("warm: compiled: %s", e.Reason)
		}
	}
	for reason, n := range map[string]int{
		"binary": 2, "extension": 1, "images": 2, "modules with flags of their own": 1, "specialization constants of several modules": 1,
		"a specialization constant that the module has not: 8": 1, "a program of no module, of one, or of too many": 1,
	} {
		for _, e := range warm.events {
			if e.Outcome == "passed" && e.Reason == reason {
				n--
			}
		}
		if n != 0 {
			t.Errorf("%d less than expected passed because of %q", n, reason)
		}
	}
}

// The same with what the loader can put in between: objects of its own for handles, as it
// does where there are several drivers; in the long form its tracing layer; its validation
// layer, with which nothing is served.
func TestObservedTheSameBehindTheLoader(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	s := newStage(t)
	most, all := "modules,native,launch", "modules,links,several,native,launch"
	brief := all // what is observed with the validation layer
	if timing.IsLong() {
		s.mustRun(t, s.shimmed(t), "observe", filepath.Join(built, "data"), all)
	} else {
		s.mustRun(t, s.shimmed(t), "observe", filepath.Join(built, "data"), most)
		brief = "native,launch"
	}
	for _, c := range []struct {
		variables []string
		served    bool
		parts     string
	}{
		// A failure's log is no object of the loader's then, and some crash that ask for it.
		{[]string{"ZE_ENABLE_LOADER_INTERCEPT=1"}, true, most},
		{[]string{"ZE_ENABLE_TRACING_LAYER=1"}, true, all},
		{[]string{"ZE_ENABLE_VALIDATION_LAYER=1", "ZE_ENABLE_PARAMETER_VALIDATION=1"}, false, brief},
	} {
		t.Run(c.variables[0], func(t *testing.T) {
			if c.served && c.parts == all {
				timing.Long(t)
			}
			t.Parallel()
			args := []string{filepath.Join(built, "data"), c.parts}
			without := normal(s.mustRun(t, c.variables, "observe", args...).out)
			r := s.mustRun(t, append(s.shimmed(t), c.variables...), "observe", args...)
			if diff := cmp.Diff(without, normal(r.out)); diff != "" {
				t.Error(diff)
			}
			compiled := slices.ContainsFunc(r.events, func(e event) bool {
				return e.Outcome == "compiled" && !strings.Contains(e.Reason, "-nonsense")
			})
			if served := r.count("disk") > 0; served != c.served || compiled {
				t.Errorf("%+v", r.events)
			}
		})
	}
}

// The shim that looks for errors of memory finds none with the real driver.
func TestObservedBySanitizer(t *testing.T) {
	if os.Getenv("KERNSTASH_TEST_LONG") != "1" {
		t.Skip("compiles under a sanitizer: KERNSTASH_TEST_LONG=1 runs it")
	}
	t.Parallel()
	if err := command("make", "-s", "OUT="+built, "asan"); err != nil {
		t.Fatal(err)
	}
	preloaded := []string{filepath.Join(built, "nodeep.so")}
	if err := program("nodeep", preloaded[0], "-shared", "-fPIC", "-ldl"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libasan.so", "libubsan.so"} {
		out, err := exec.Command("cc", "-print-file-name="+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		preloaded = append(preloaded, strings.TrimSpace(string(out)))
	}
	preloaded = append(preloaded, filepath.Join(built, "asan", shim))
	s := newStage(t)
	args := []string{filepath.Join(built, "data"), "modules,images,constants,links,several,wrong,native,launch"}
	without := normal(s.mustRun(t, nil, "observe", args...).out)
	// The options are for what the compiler does.
	env := append(s.shimmed(t), "LD_PRELOAD="+strings.Join(preloaded, ":"),
		"ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:new_delete_type_mismatch=0")
	for _, name := range []string{"cold", "warm"} {
		r := s.mustRun(t, env, "observe", args...)
		if diff := cmp.Diff(without, normal(r.out)); diff != "" || strings.Contains(r.err, "Sanitizer") || strings.Contains(r.err, "runtime error") {
			t.Errorf("%s:\n%s\n%s", name, diff, tail(r.err))
		}
		if name == "warm" && r.count("disk") < 30 {
			t.Errorf("%d restored", r.count("disk"))
		}
	}
}

// Why modules that read images pass.
func TestImagesOfOtherFormats(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	// Nothing; ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT of SPIR-V alone.
	const want = "SPIR-V 0 7800000e\nnative 0 0\n"
	for _, env := range [][]string{nil, s.shimmed(t), s.shimmed(t)} {
		if r := s.mustRun(t, env, "formats", data("images")); r.out != want || r.count("disk") != 0 {
			t.Errorf("%q, want %q\n%+v", r.out, want, r.events)
		}
	}
}

// src/ze.h says what Level Zero's own header says.
func TestOwnDeclarations(t *testing.T) {
	t.Parallel()
	var said [2]string
	for i, flag := range []string{"-DOWN", "-UOWN"} {
		to := filepath.Join(t.TempDir(), "same")
		if err := program("same", to, flag); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(to).Output()
		if err != nil {
			t.Fatal(err)
		}
		said[i] = string(out)
	}
	if diff := cmp.Diff(said[1], said[0]); diff != "" || !strings.Contains(said[0], "ze_module_desc_t.pConstants 48") {
		t.Errorf("%s\n%s", diff, said[0])
	}
}
