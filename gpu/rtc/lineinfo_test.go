package rtc_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
)

// touch sets when a file was changed last.
func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// Machine code with line information has the times of header files in it, to the second, and of
// the files that the program's name and headers in memory lead to. PTX and LTO IR have none.
func TestTimesInLineInformation(t *testing.T) {
	t.Parallel()
	const code = "#include <e.h>\nextern \"C\" __global__ void k(int *p) { *p = twice(p[1]); }\n"
	const header = "inline __device__ int twice(int i) { int s = 0; for (int j = 0; j < i; j++) s += j ^ 3; return s; }\n"
	then := time.Unix(1700000000, 0)
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		for _, c := range []struct {
			options string
			timed   bool
		}{
			{"-arch=sm_80 -lineinfo", true},
			{"--gpu-architecture sm_80 --generate-line-info --device-debug --dopt on", true},
			{"-arch=sm_80", false},
			{"-arch=compute_80 -lineinfo", false},
			{"-arch=compute_80 -G", false},
			{"-arch=sm_80 -lineinfo -dlto", false},
		} {
			t.Run(fmt.Sprintf("%d.%d/%s", major, minor, strings.ReplaceAll(c.options, " ", "")), func(t *testing.T) {
				t.Parallel()
				include, home, dir := t.TempDir(), t.TempDir(), cacheDir(t)
				path, main := filepath.Join(include, "e.h"), filepath.Join(home, "main.cu")
				write(t, path, header)
				touch(t, path, then)
				r := rtc.Request{Source: []byte(code), Name: main, Options: append(strings.Fields(c.options), "-I"+include)}
				before, err := l.Compile(r)
				if err != nil {
					t.Fatal(err)
				}
				check := func(what string, hit bool) {
					t.Helper()
					o, why := served(t, l, dir, r)
					if (why == "") != hit || !hit && why != miss {
						t.Errorf("%s: %q", what, why)
					}
					if want, err := l.Compile(r); err != nil || !sameOutput(o, want) {
						t.Errorf("%s: not what the compiler makes of it now, %v", what, err)
					}
				}
				check("cold", false)
				check("warm", true)
				touch(t, path, then.Add(500*time.Millisecond))
				check("later in the second", true)
				touch(t, path, then.Add(777*time.Second))
				after, err := l.Compile(r)
				if err != nil {
					t.Fatal(err)
				}
				switch same := bytes.Equal(after.Answer(rtc.CUBIN).Data, before.Answer(rtc.CUBIN).Data); {
				case same && c.timed && major >= 13:
					t.Log("this NVRTC writes no times")
				case same == c.timed:
					t.Errorf("the compiler makes the same of another time: %v", same)
				}
				check("another second", !c.timed)
				check("warm again", true)
				touch(t, path, then)
				check("the first", true)
				write(t, main, "not read")
				check("a file of the program's name", !c.timed)
				check("it is there", true)
			})
		}
	}
}

// Line information of a file that is not known beforehand is not kept.
func TestFilesOfLineInformation(t *testing.T) {
	t.Parallel()
	const body = "extern \"C\" __global__ void k(int *p) { *p = twice(p[1]); }\n"
	const header = "inline __device__ int twice(int i) { int s = 0; for (int j = 0; j < i; j++) s += j ^ 3; return s; }\n"
	include := t.TempDir()
	write(t, filepath.Join(include, "e.h"), header)
	memory := []key.Header{{Name: "e.h", Content: []byte(header)}}
	for _, c := range []struct {
		what, source string
		headers      []key.Header
		options      string
		why          string
	}{
		{"a header file", "#include <e.h>\n" + body, nil, "-lineinfo -arch=sm_80 -I" + include, ""},
		{"by way of dots", "#include <e.h>\n" + body, nil, "-lineinfo -arch=sm_80 -I" + include + "/../" + filepath.Base(include), "line information"},
		{"in memory", "#include <e.h>\n" + body, memory, "-lineinfo -arch=sm_80", ""},
		{"another line", header + "#line 7 \"other.cu\"\n" + body, nil, "-lineinfo -arch=sm_80", "other.cu"},
		{"another line, PTX", header + "#line 7 \"other.cu\"\n" + body, nil, "-lineinfo -arch=compute_80", "other.cu"},
		{"another line, not kept", header + "#line 7 \"other.cu\"\n" + body, nil, "-arch=sm_80", ""},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, l := range nvrtcs(t) {
				dir := cacheDir(t)
				r := rtc.Request{Source: []byte(c.source), Name: "a.cu", Headers: c.headers, Options: strings.Fields(c.options)}
				served(t, l, dir, r)
				if _, why := served(t, l, dir, r); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
					t.Errorf("%q", why)
				}
			}
		})
	}
}
