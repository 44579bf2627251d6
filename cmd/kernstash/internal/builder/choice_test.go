package builder

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

func TestBuildTasks(t *testing.T) {
	t.Parallel()
	got, err := tasksFor(
		[]string{"a.cl", "b.CU", "b.CU", "c.hip", "d.spv", "e.h", "f.hip"},
		Options{Archs: []string{"sm_80", "gfx90a", "compute_90"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Task{
		{File: "a.cl", runtime: "opencl", first: true},
		{File: "b.CU", runtime: "nvrtc", Arch: "sm_80", first: true},
		{File: "b.CU", runtime: "nvrtc", Arch: "compute_90"},
		{File: "b.CU", runtime: "nvrtc", Arch: "sm_80", first: true},
		{File: "b.CU", runtime: "nvrtc", Arch: "compute_90"},
		{File: "c.hip", runtime: "hiprtc", Arch: "gfx90a", first: true},
		{File: "d.spv", first: true},
		{File: "e.h", runtime: "opencl", first: true},
		{File: "f.hip", runtime: "hiprtc", Arch: "gfx90a", first: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Task{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRuntimeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, choice, want string }{
		{"a.cl", "levelzero", "opencl"},
		{"a.cu", "opencl", "nvrtc"},
		{"a.spv", "opencl", "opencl"},
		{"a.spv", "levelzero", "levelzero"},
		{"a.spv", "nvrtc", ""},
		{"a.cpp", "", "opencl"},
		{"a.cpp", "hiprtc", "hiprtc"},
		{"a", "nvrtc", "nvrtc"},
	} {
		if got, err := runtimeOf(tt.file, tt.choice); err != nil || got != tt.want {
			t.Errorf("%s, --runtime %s: %q, %v; want %q", tt.file, tt.choice, got, err, tt.want)
		}
	}
	if got, err := runtimeOf("a.cpp", "levelzero"); !cli.IsUsage(err) {
		t.Errorf("Level Zero takes C++: %q, %v", got, err)
	}
}

// TestUnusedFlags: a flag that says nothing about any file is a mistake.
func TestUnusedFlags(t *testing.T) {
	t.Parallel()
	name := ""
	for _, tt := range []struct {
		name    string
		files   []string
		o       Options
		refused bool
	}{
		{"arch, OpenCL C", []string{"a.cl"}, Options{Archs: []string{"sm_90"}}, true},
		{"arch, SPIR-V", []string{"a.spv"}, Options{Archs: []string{"gfx90a"}}, true},
		{"arch of another compiler", []string{"a.cu"}, Options{Archs: []string{"gfx90a"}}, true},
		{"arch, mixed", []string{"a.cl", "b.cu"}, Options{Archs: []string{"sm_90"}}, false},
		{"expressions, OpenCL C", []string{"a.cl"}, Options{Expressions: []string{"f"}}, true},
		{"program's name, OpenCL C", []string{"a.cl"}, Options{ProgramName: &name}, true},
		{"program's name", []string{"a.hip"}, Options{ProgramName: &name}, false},
		{"device, CUDA", []string{"a.cu"}, Options{Device: "0"}, true},
		{"device, SPIR-V", []string{"a.spv"}, Options{Device: "0"}, false},
		{"local size, CUDA", []string{"a.cu"}, Options{LocalSizes: [][3]int{{1, 1, 1}}}, true},
		{"no options, CUDA", []string{"a.cu"}, Options{NoOptions: true}, true},
		{"no options", []string{"a.cl"}, Options{NoOptions: true}, false},
		{"runtime of no file", []string{"a.cl"}, Options{Runtime: "nvrtc"}, true},
		{"runtime", []string{"a.cl", "b.cpp"}, Options{Runtime: "nvrtc"}, false},
		{"a part of the files", []string{"a.cl"}, Options{Archs: []string{"sm_90"}, Report: "/x"}, false},
	} {
		tasks, err := tasksFor(tt.files, tt.o)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if err := tt.o.checkUsed(tasks); cli.IsUsage(err) != tt.refused {
			t.Errorf("%s: %v, refused: want %v", tt.name, err, tt.refused)
		}
	}
}
