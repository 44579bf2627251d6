//go:build !nogpu && linux

package dl_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

func TestOpenTriesNamesInTurn(t *testing.T) {
	l, err := dl.Open("libkernstash-none.so.1", "libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != "libc.so.6" {
		t.Errorf("opened %q", l.Name())
	}
	strlen, ok := l.Symbol("strlen")
	if !ok {
		t.Fatal("libc has no strlen")
	}
	s := dl.CString("twelve bytes")
	if n := strlen.Call(uintptr(unsafe.Pointer(&s[0]))); n != 12 {
		t.Errorf("strlen = %d, want 12", n)
	}
	if _, ok := l.Symbol("kernstash_none"); ok {
		t.Error("found a symbol that does not exist")
	}
}

// Six names that are nowhere are one thing to say.
func TestOpenIsBrief(t *testing.T) {
	names := []string{"libkernstash-none.so.6", "libkernstash-none.so.5", "libkernstash-none.so.4", "libkernstash-none.so.3"}
	_, err := dl.Open(names...)
	const want = "open library libkernstash-none.so.6, or one of 3 other names: cannot be opened: No such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestOpenSaysWhatTheLoaderSaid(t *testing.T) {
	_, err := dl.Open("libkernstash-none.so.1", "libkernstash-none.so")
	if !errors.Is(err, dl.ErrNoLibrary) {
		t.Fatalf("err = %v, want ErrNoLibrary", err)
	}
	for _, want := range []string{"libkernstash-none.so.1", "No such file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not mention %q: %v", want, err)
		}
	}
}

func TestCStringEndsAtTheFirstNUL(t *testing.T) {
	if got := string(dl.CString("ab\x00cd")); got != "ab\x00" {
		t.Errorf("CString = %q", got)
	}
}

// TestSetenvReachesC shows what the OpenCL adapter relies on: os.Setenv is
// seen by getenv in C, with cgo and without.
func TestSetenvReachesC(t *testing.T) {
	l, err := dl.Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	getenv, _ := l.Symbol("getenv")
	length, _ := l.Symbol("strlen")
	const name = "KERNSTASH_TEST_SETENV"
	c := dl.CString(name)
	get := func() uintptr { return getenv.Call(uintptr(unsafe.Pointer(&c[0]))) }
	t.Setenv(name, "seen by C")
	at := get()
	if at == 0 {
		t.Fatal("not seen by C")
	}
	if got := string(dl.Bytes(at, int(length.Call(at)))); got != "seen by C" {
		t.Errorf("C sees %q", got)
	}
	os.Unsetenv(name)
	if get() != 0 {
		t.Error("seen by C after Unsetenv")
	}
}

func BenchmarkCall(b *testing.B) {
	l, err := dl.Open("libc.so.6")
	if err != nil {
		b.Fatal(err)
	}
	strlen, _ := l.Symbol("strlen")
	s := dl.CString("twelve bytes")
	b.ReportAllocs()
	for b.Loop() {
		strlen.Call(uintptr(unsafe.Pointer(&s[0])))
	}
}

func TestEnvironIsThatOfC(t *testing.T) {
	const name = "KERNSTASH_TEST_ENVIRON"
	t.Setenv(name, "as C has it")
	if all := dl.Environ(); !slices.Contains(all, name+"=as C has it") || len(all) != len(os.Environ()) {
		t.Errorf("%d variables, os.Environ has %d, %s among them: %v", len(all), len(os.Environ()), name, all)
	}
	os.Unsetenv(name)
	if all := dl.Environ(); slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, name) }) {
		t.Error("it is there when it was taken away")
	}
}
