package rtc

import "testing"

// Whoever may add options to a program's by a variable has - or @ begin a word there.
func TestMayHoldOptions(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"-O3", "--gpu-max-threads=1", "-", "a -O3", "a\t-DX", "a;-DX", "(-1", "0,-1", "@options", "a @options", "x=@options", "é-DX", "[-x",
	} {
		if !mayHoldOptions(value) {
			t.Errorf("%q: it may", value)
		}
	}
	for _, value := range []string{
		"", "0", "0,1,2", "/usr/lib/x86_64-linux-gnu", "/opt/rocm-5.2.3/bin", "../-x", "a/-x", "gfx90a:sramecc+:xnack-", "a-b", "A-B", "Z-9", "z-", "9-9",
		"_-", "a--b", "me@host", "1@2",
	} {
		if mayHoldOptions(value) {
			t.Errorf("%q: it may not", value)
		}
	}
}
