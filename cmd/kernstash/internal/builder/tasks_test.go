package builder

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

func TestBuildTasks(t *testing.T) {
	t.Parallel()
	got, err := tasksFor(
		[]string{"a.cl", "b.CU", "b.CU", "c.hip", "d.spv", "e.h", "f.hip"},
		Options{Archs: []string{"sm_80", "gfx90a", "compute_90"}})
	if err != nil {
		t.Fatal(err)
	}
	type task struct {
		file, arch, runtimes string
		kind                 key.Kind
		first                bool
	}
	want := []task{
		{"a.cl", "", "opencl", key.OpenCLC, true},
		{"b.CU", "sm_80", "nvrtc", key.CUDACpp, true},
		{"b.CU", "compute_90", "nvrtc", key.CUDACpp, false},
		{"b.CU", "sm_80", "nvrtc", key.CUDACpp, true},
		{"b.CU", "compute_90", "nvrtc", key.CUDACpp, false},
		{"c.hip", "gfx90a", "hiprtc", key.HIPCpp, true},
		{"d.spv", "", "levelzero opencl", key.SPIRV, true},
		{"e.h", "", "opencl", key.OpenCLC, true},
		{"f.hip", "gfx90a", "hiprtc", key.HIPCpp, true},
	}
	var is []task
	for _, t := range got {
		is = append(is, task{t.Path, t.Arch, names(t), t.Kind, t.first})
	}
	if diff := cmp.Diff(want, is, cmp.AllowUnexported(task{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// names returns the runtimes that may build a task, the one that is asked first before others.
func names(t Task) string {
	var all []string
	for _, rt := range t.candidates {
		all = append(all, rt.Name)
	}
	return strings.Join(all, " ")
}

func TestTaskOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, choice, want string
		kind               key.Kind
	}{
		{"a.cl", "levelzero", "opencl", key.OpenCLC},
		{"a.cu", "opencl", "nvrtc", key.CUDACpp},
		{"a.spv", "opencl", "opencl", key.SPIRV},
		{"a.spv", "levelzero", "levelzero", key.SPIRV},
		{"a.spv", "nvrtc", "levelzero opencl", key.SPIRV},
		{"a.cpp", "", "opencl", key.OpenCLC},
		{"a.cpp", "hiprtc", "hiprtc", key.HIPCpp},
		{"a", "nvrtc", "nvrtc", key.CUDACpp},
	} {
		if got, err := taskOf(tt.file, tt.choice); err != nil || names(got) != tt.want || got.Kind != tt.kind {
			t.Errorf("%s, --runtime %s: %q, %v, %v; want %q, %v", tt.file, tt.choice, names(got), got.Kind, err, tt.want, tt.kind)
		}
	}
	if got, err := taskOf("a.cpp", "levelzero"); !cli.IsUsage(err) {
		t.Errorf("Level Zero takes C++: %v, %v", got, err)
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
		{"expressions, OpenCL C", []string{"a.cl"}, Options{BuildOptions: tool.BuildOptions{Expressions: []string{"f"}}}, true},
		{"program's name, OpenCL C", []string{"a.cl"}, Options{BuildOptions: tool.BuildOptions{ProgramName: &name}}, true},
		{"program's name", []string{"a.hip"}, Options{BuildOptions: tool.BuildOptions{ProgramName: &name}}, false},
		{"device, CUDA", []string{"a.cu"}, Options{Device: "0"}, true},
		{"device, SPIR-V", []string{"a.spv"}, Options{Device: "0"}, false},
		{"local size, CUDA", []string{"a.cu"}, Options{BuildOptions: tool.BuildOptions{LocalSizes: [][3]int{{1, 1, 1}}}}, true},
		{"no options, CUDA", []string{"a.cu"}, Options{BuildOptions: tool.BuildOptions{NoOptions: true}}, true},
		{"no options", []string{"a.cl"}, Options{BuildOptions: tool.BuildOptions{NoOptions: true}}, false},
		{"runtime of no file", []string{"a.cl"}, Options{Runtime: "nvrtc"}, true},
		{"runtime", []string{"a.cl", "b.cpp"}, Options{Runtime: "nvrtc"}, false},
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
