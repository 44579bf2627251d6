package tool

import "testing"

func TestCompileOptions(t *testing.T) {
	t.Parallel()
	o := BuildOptions{Defines: []string{"N=1", "X"}, Includes: []string{"inc"}, Options: "-w  -O1"}
	if got, want := o.CompileOptions(), "-DN=1 -DX -Iinc -w  -O1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
