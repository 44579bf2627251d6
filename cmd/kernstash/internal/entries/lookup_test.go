package entries

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

func u64(n int) string { return string(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

func item(kind, data string) string { return kind + u64(len(data)) + data }

func piece(items ...string) string {
	all := ""
	for _, i := range items {
		all += i
	}
	return u64(len(all)) + all
}

func TestLookupOf(t *testing.T) {
	t.Parallel()
	const minus5 = "\xfb\xff\xff\xff\xff\xff\xff\xff"
	const half = "\x00\x00\x00\x00\x00\x00\xe0\x3f"
	whole := "kernstash lookup 1\x00" +
		piece(item("p", "xgemm")) + piece(item("c", "ctx")) +
		piece(item("s", "kernel void f() {}"), item("l", "own"), item("v", "1.0")) +
		piece(item("i", minus5), item("d", half), item("t", "a\"b"), item("b", "12"), item("o", "-O1"))
	want := &lookupReport{
		Program: "xgemm", Context: 3, Libraries: []string{"own 1.0"}, Sources: []int{18},
		Variants: []string{"-5", "0.5", `"a\"b"`, "2 bytes"},
	}
	look := func(kind key.Kind, code string) *lookupReport {
		t.Helper()
		img, err := key.NewImage(kind, []byte(code))
		if err != nil {
			t.Fatal(err)
		}
		return lookupOf(&key.Recipe{Image: img})
	}
	if diff := cmp.Diff(want, look(key.Opaque, whole)); diff != "" {
		t.Error(diff)
	}
	if look(key.OpenCLC, whole) != nil {
		t.Error("OpenCL C is no lookup")
	}
	// What is cut short, or of a kind that nobody knows, is not guessed at.
	for n := range len(whole) - 1 {
		if got := look(key.Opaque, whole[:n+1]); got != nil {
			t.Fatalf("of %d bytes: %+v", n+1, got)
		}
	}
	if got := look(key.Opaque, "kernstash lookup 1\x00"+piece(item("?", "x"))+piece()+piece()+piece()); got != nil {
		t.Errorf("of another kind: %+v", got)
	}
}
