//go:build linux

package preload_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

// A library that is opened where another one was closed is not taken for that.
func TestAnotherLibraryAtThePlaceOfOne(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	own, err := os.ReadFile(real(t, nvrtc))
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`\x03\x00\x00\x00GNU\x00`).FindIndex(own)
	if id == nil || bytes.Count(own, []byte("V11.8.89")) != 1 {
		t.Fatal("this NVRTC is not known here")
	}
	other := bytes.Replace(own, []byte("V11.8.89"), []byte("V11.8.88"), 1)
	other[id[1]] ^= 1
	s.write("a/"+nvrtc, string(own))
	s.write("b/"+nvrtc, string(other))
	a, b := s.work+"/a/"+nvrtc, s.work+"/b/"+nvrtc
	want := "V11.8.89\nV11.8.88\nV11.8.89\nV11.8.88\nV11.8.88\nV11.8.89\n"
	for range 2 {
		got := s.mustRun(true, nil, s.program("swap"), a, b, a, b, b, a)
		if got.out != want {
			t.Errorf("%s, want\n%s", got.out, want)
		}
	}
}
