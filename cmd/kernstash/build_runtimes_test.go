package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuildTasks(t *testing.T) {
	t.Parallel()
	got, err := buildTasks(
		[]string{"a.cl", "b.CU", "b.CU", "c.hip", "d.spv", "e.h", "f.hip"},
		buildOptions{archs: []string{"sm_80", "gfx90a", "compute_90"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []buildTask{
		{file: "a.cl", runtime: "opencl", first: true},
		{file: "b.CU", runtime: "nvrtc", arch: "sm_80", first: true},
		{file: "b.CU", runtime: "nvrtc", arch: "compute_90"},
		{file: "b.CU", runtime: "nvrtc", arch: "sm_80", first: true},
		{file: "b.CU", runtime: "nvrtc", arch: "compute_90"},
		{file: "c.hip", runtime: "hiprtc", arch: "gfx90a", first: true},
		{file: "d.spv", first: true},
		{file: "e.h", runtime: "opencl", first: true},
		{file: "f.hip", runtime: "hiprtc", arch: "gfx90a", first: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(buildTask{})); diff != "" {
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
	if got, err := runtimeOf("a.cpp", "levelzero"); !isUsage(err) {
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
		o       buildOptions
		refused bool
	}{
		{"arch, OpenCL C", []string{"a.cl"}, buildOptions{archs: []string{"sm_90"}}, true},
		{"arch, SPIR-V", []string{"a.spv"}, buildOptions{archs: []string{"gfx90a"}}, true},
		{"arch of another compiler", []string{"a.cu"}, buildOptions{archs: []string{"gfx90a"}}, true},
		{"arch, mixed", []string{"a.cl", "b.cu"}, buildOptions{archs: []string{"sm_90"}}, false},
		{"expressions, OpenCL C", []string{"a.cl"}, buildOptions{expressions: []string{"f"}}, true},
		{"program's name, OpenCL C", []string{"a.cl"}, buildOptions{programName: &name}, true},
		{"program's name", []string{"a.hip"}, buildOptions{programName: &name}, false},
		{"device, CUDA", []string{"a.cu"}, buildOptions{device: "0"}, true},
		{"device, SPIR-V", []string{"a.spv"}, buildOptions{device: "0"}, false},
		{"local size, CUDA", []string{"a.cu"}, buildOptions{localSizes: [][3]int{{1, 1, 1}}}, true},
		{"no options, CUDA", []string{"a.cu"}, buildOptions{noOptions: true}, true},
		{"no options", []string{"a.cl"}, buildOptions{noOptions: true}, false},
		{"runtime of no file", []string{"a.cl"}, buildOptions{runtime: "nvrtc"}, true},
		{"runtime", []string{"a.cl", "b.cpp"}, buildOptions{runtime: "nvrtc"}, false},
		{"a part of the files", []string{"a.cl"}, buildOptions{archs: []string{"sm_90"}, report: "/x"}, false},
	} {
		tasks, err := buildTasks(tt.files, tt.o)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if err := tt.o.checkUsed(tasks); isUsage(err) != tt.refused {
			t.Errorf("%s: %v, refused: want %v", tt.name, err, tt.refused)
		}
	}
}

// TestBuildArgs: a process of our own gets the flags that we got.
func TestBuildArgs(t *testing.T) {
	t.Parallel()
	name := ""
	o := buildOptions{
		defines: []string{"N=1", "S=a b"}, includes: []string{"inc"}, options: `-x "y z"`, device: "gpu", runtime: "opencl",
		archs: []string{"sm_90"}, expressions: []string{"f<int, 2>"}, programName: &name,
		localSizes: [][3]int{{16, 2, 1}}, noOptions: true, jobs: 3,
	}
	a := &app{dir: "/d", config: "/c", set: []string{"max-size=1GiB"}}
	root := (&app{}).command()
	part, rest, err := root.Find(append([]string{"build-part"}, a.buildArgs(o)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := part.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, f := range []string{
		"define", "include", "options", "device", "runtime", "arch", "name-expression", "program-name",
		"local-size", "no-options", "jobs", "dir", "config", "set",
	} {
		flag := part.Flag(f)
		if !flag.Changed {
			t.Errorf("--%s is not passed on", f)
		}
		got[f] = flag.Value.String()
	}
	want := map[string]string{
		"define": "[N=1,S=a b]", "include": "[inc]", "options": `-x "y z"`, "device": "gpu", "runtime": "opencl",
		"arch": "[sm_90]", "name-expression": `["f<int, 2>"]`, "program-name": "", "local-size": "[16x2x1]",
		"no-options": "true", "jobs": "3", "dir": "/d", "config": "/c", "set": "[max-size=1GiB]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
