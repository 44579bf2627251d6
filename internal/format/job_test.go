package format

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

func jobRecipe(t testing.TB, code string) *key.Recipe {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	return &key.Recipe{Device: key.Device{API: "opencl", Name: "d"}, Image: img, Options: key.NewOptions("-DA", "")}
}

func TestJob(t *testing.T) {
	t.Parallel()
	r := jobRecipe(t, "kernel void k() {}")
	for _, head := range []string{"", "{}", "two\nlines"} {
		b, err := EncodeJob([]byte(head), r)
		if err != nil {
			t.Fatal(err)
		}
		got, rec, err := DecodeJob(b)
		if err != nil || string(got) != head || rec.Key() != r.Key() {
			t.Errorf("%q: %q, %v", head, got, err)
		}
		want := fmt.Sprintf("kernstash job 1 %d ", len(head))
		if !bytes.HasPrefix(b, []byte(want)) {
			t.Errorf("it starts with %q, want %q", b[:40], want)
		}
	}
}

func TestJobRefuses(t *testing.T) {
	t.Parallel()
	r := jobRecipe(t, "kernel void k() {}")
	good, err := EncodeJob([]byte("{}"), r)
	if err != nil {
		t.Fatal(err)
	}
	// made writes a job by hand, with a sum that is right.
	made := func(line, rest string) []byte {
		sum := crc32.Checksum([]byte(rest), crc32.MakeTable(crc32.Castagnoli))
		return fmt.Appendf(nil, "%s %08x\n%s", line, sum, rest)
	}
	recipe := string(r.Append(nil))
	tests := []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrForeign},
		{"text", []byte("hello\n"), ErrForeign},
		{"another version", made("kernstash job 2 2", "{}\n"+recipe), ErrVersion},
		{"version 11", made("kernstash job 11 2", "{}\n"+recipe), ErrVersion},
		{"no end of line", []byte("kernstash job 1 2 00000000"), ErrMalformed},
		{"a word too few", []byte("kernstash job 1 2\n"), ErrMalformed},
		{"zeros in front", made("kernstash job 1 02", "{}\n"+recipe), ErrMalformed},
		{"no number", made("kernstash job 1 x", "{}\n"+recipe), ErrMalformed},
		{"a head longer than all", made("kernstash job 1 1000", "{}\n"), ErrTruncated},
		{"a head too large", made("kernstash job 1 1048577", "{}\n"), ErrMalformed},
		{"no line end", made("kernstash job 1 2", "{}x"+recipe), ErrMalformed},
		{"no recipe", made("kernstash job 1 2", "{}\n"), ErrMalformed},
		{"more than a recipe", made("kernstash job 1 2", "{}\n"+recipe+"x"), ErrMalformed},
		{"cut", good[:len(good)-1], ErrDigest},
		{"changed", append(bytes.Clone(good[:len(good)-1]), 'x'), ErrDigest},
		{"huge", make([]byte, MaxJob+1), ErrMalformed},
	}
	for _, tt := range tests {
		if _, _, err := DecodeJob(tt.b); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if b := made("kernstash job 1 2", "{}\n"+recipe); !bytes.Equal(b, good) {
		t.Errorf("by hand it is\n%q, EncodeJob writes\n%q", b, good)
	}
}

func TestJobTooLarge(t *testing.T) {
	t.Parallel()
	if _, err := EncodeJob(make([]byte, MaxJobHead+1), jobRecipe(t, "x")); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a large head: %v", err)
	}
	for _, n := range []int{MaxJob - 10, MaxJob + 1} {
		if _, err := EncodeJob(nil, jobRecipe(t, string(make([]byte, n)))); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%d bytes of code: %v", n, err)
		}
	}
}

func FuzzJob(f *testing.F) {
	b, err := EncodeJob([]byte(`{"kind":"capture"}`), jobRecipe(f, "kernel void k() {}"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("kernstash job 1 0 00000000\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// A fuzzer guesses no sums, so it gets the right one.
		if line, rest, ok := bytes.Cut(b, []byte("\n")); ok && len(line) > 8 {
			b = append(fmt.Appendf(bytes.Clone(line[:len(line)-8]), "%08x\n", crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli))), rest...)
		}
		head, r, err := DecodeJob(b)
		if err != nil {
			return
		}
		again, err := EncodeJob(head, r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Fatalf("decoded and encoded it is another: %s", diff)
		}
	})
}

// TestDocumentDescribesJob reads a job by docs/FORMAT.md alone.
func TestDocumentDescribesJob(t *testing.T) {
	t.Parallel()
	r := jobRecipe(t, "kernel void k() {}")
	const head = `{"kind":"capture"}`
	b, err := EncodeJob([]byte(head), r)
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(b), "\n")
	f := strings.Split(line, " ")
	if len(f) != 5 || f[0]+" "+f[1]+" "+f[2] != "kernstash job 1" {
		t.Fatalf("first line %q", line)
	}
	if want := fmt.Sprintf("%08x", crc32.Checksum([]byte(rest), crc32.MakeTable(crc32.Castagnoli))); f[4] != want {
		t.Errorf("sum %s, want %s", f[4], want)
	}
	if f[3] != "18" || rest[:18] != head || rest[18] != '\n' || rest[19:] != string(r.Append(nil)) {
		t.Errorf("length %s, then %q", f[3], rest)
	}
}
