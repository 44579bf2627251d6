package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/gpu/tool"
)

// TestBuildArgs: a process of our own gets the flags that we got.
func TestBuildArgs(t *testing.T) {
	t.Parallel()
	name := ""
	o := builder.Options{
		BuildOptions: tool.BuildOptions{
			Defines: []string{"N=1", "S=a b"}, Includes: []string{"inc"}, Options: `-x "y z"`,
			Expressions: []string{"f<int, 2>"}, ProgramName: &name, LocalSizes: [][3]int{{16, 2, 1}}, NoOptions: true,
		},
		Device: "gpu", Runtime: "opencl", Archs: []string{"sm_90"}, Jobs: 3,
	}
	a := &cli.App{Dir: "/d", Config: "/c", Set: []string{"max-size=1GiB"}}
	root := rootCommand(&cli.App{})
	part, rest, err := root.Find(append([]string{"build-part"}, o.Args(a)...))
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
