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
