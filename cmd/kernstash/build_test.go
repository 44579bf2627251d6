package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// TestBuildArgs: a process of our own gets the flags that we got, and no others.
func TestBuildArgs(t *testing.T) {
	t.Parallel()
	want := []string{
		"--arch=sm_90", "--config=/c", "--define=N=1", "--define=S=a, b", "--device=gpu", "--dir=/d", "--include=inc", "--jobs=3",
		"--local-size=16x2x1", "--name-expression=f<int, 2>", "--no-options=true", `--options=-x "y z"`, "--program-name=",
		"--runtime=opencl", "--set=max-size=1GiB", "--set=eviction=lru",
	}
	part, rest, err := rootCommand(&cli.App{}).Find(append([]string{"build-part"}, want...))
	if err != nil {
		t.Fatal(err)
	}
	if err := part.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, builder.Given(part.Flags())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
