package kernstash

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// What is remembered is what is found: of the same code, and of the same kind.
func TestScanned(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("// nothing\n", scanLeast/8)
	for _, c := range []struct {
		name           string
		kind           key.Kind
		code           string
		reads, against bool
	}{
		{"plain", key.OpenCLC, long, false, false},
		{"reads", key.OpenCLC, long + "#include \"a.h\"\n", true, false},
		{"time", key.OpenCLC, long + "int t = __TIME__;\n", false, true},
		{"the same of another kind", key.SPIRV, long + "int t = __TIME__;\n", false, false},
		{"short", key.OpenCLC, "int t = __TIME__;\n", false, true},
	} {
		img, err := key.NewImageSet(key.Unit{Kind: c.kind, Code: []byte(c.code)})
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"scanned", "remembered"} {
			if got := scanned.unit(img, 0); got.reads != c.reads || got.against.None() == c.against {
				t.Errorf("%s, %s: reads %v, against %v", c.name, when, got.reads, got.against)
			}
		}
	}
}

// The image that is kept is that of the same code and kind, and has a copy of the code.
func TestImagesAreKept(t *testing.T) {
	t.Parallel()
	var s scans
	image := func(kind key.Kind, code []byte, headers ...key.Header) *key.Image {
		t.Helper()
		img, err := s.image([]key.Unit{{Kind: kind, Code: code, Headers: headers}})
		if err != nil {
			t.Fatal(err)
		}
		if want, err := key.NewImageSet(key.Unit{Kind: kind, Code: code, Headers: headers}); err != nil || img.Digest() != want.Digest() {
			t.Errorf("the digest is another one: %v", err)
		}
		if got := img.Units()[0]; got.Kind != kind || !bytes.Equal(got.Code, code) || len(got.Headers) != len(headers) {
			t.Errorf("%v: the image of something else", kind)
		}
		return img
	}
	code := bytes.Repeat([]byte("// nothing\n"), scanLeast/8)
	first := image(key.OpenCLC, code)
	if image(key.OpenCLC, bytes.Clone(code)) != first {
		t.Error("made again")
	}
	if image(key.SPIRV, code) == first {
		t.Error("kept for another kind")
	}
	if image(key.OpenCLC, code, key.Header{Name: "a.h"}) == first {
		t.Error("kept for code with a header")
	}
	before := bytes.Clone(code)
	code[len(code)-2] = '!' // the host's memory has something else in it
	if image(key.OpenCLC, code) == first {
		t.Error("kept for other code")
	}
	if image(key.OpenCLC, before) != first {
		t.Error("made again after other code")
	}
	s.forget()
	if image(key.OpenCLC, before) == first {
		t.Error("not forgotten")
	}
	for _, size := range []int{scanLeast - 1, imageMost + 1} {
		code := bytes.Repeat([]byte(" "), size)
		once := image(key.OpenCLC, code)
		if image(key.OpenCLC, code) == once {
			t.Errorf("one of %d bytes is kept", size)
		}
	}
	first = image(key.OpenCLC, before)
	for i := range imagesKept {
		image(key.OpenCLC, append(bytes.Clone(before), byte('0'+i)))
	}
	if image(key.OpenCLC, before) == first {
		t.Error("the oldest is kept")
	}
}
