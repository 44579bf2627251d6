package records

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

func aKey(n int) key.Key {
	d := func(part string) key.Digest { return sha256.Sum256(fmt.Append(nil, part, n)) }
	return key.New(d("device"), d("image"), d("constants"), d("options"))
}

func parsed(b []byte) (all []Line) {
	Parse(b, func(l Line) { all = append(all, l) })
	return all
}

var at = time.Unix(1_800_000_000, 0)

func lines() []Line {
	return []Line{
		{Kind: Hits, At: at, Since: at.Add(-time.Hour), App: "saxpy", Entry: EntryOf(aKey(1)), Hits: 7, Saved: -time.Second, Label: "scale, sum"},
		{Kind: Miss, At: at, Since: at, App: "train.py", Entry: EntryOf(aKey(2)), Cost: 3 * time.Second, Label: "k", Device: "d", API: "opencl", Reason: "miss.absent", Nearest: `driver "3.1" was "3.0"`},
		{Kind: Miss, At: at, Since: at, App: "x", Reason: "__TIME__"},
		{Kind: Gone, At: at, Since: at, Entry: Entry{Place: PlaceOf(aKey(1))}, Reason: Evicted},
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b []byte
	for _, l := range lines() {
		b = l.Append(append(b, '\n'))
	}
	if diff := cmp.Diff(lines(), parsed(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	k := aKey(1)
	if got, want := PlaceOf(k).Path(), strings.Join(func() []string { d := k.Dirs(); return d[:] }(), "/"); got != want {
		t.Errorf("place %s, want %s", got, want)
	}
}

// TestLabelOfManyKernels: a label that is cut says how many kernels it leaves out.
func TestLabelOfManyKernels(t *testing.T) {
	t.Parallel()
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("kernel%03d", i)
	}
	l := Line{Kind: Miss, At: at, Since: at, App: "x", Entry: EntryOf(aKey(1)), Reason: "miss.absent", Label: strings.Join(names, ", ")}
	// 45 names and the blanks between them have 45*9 + 44*2 = 493 bytes, what follows 13.
	want := strings.Join(names[:45], ", ") + ", … 55 more"
	if got := parsed(l.Append([]byte("\n"))); len(got) != 1 || got[0].Label != want {
		t.Errorf("%+v, want the label %q", got, want)
	}
}

// TestDamagedLines: each line that is whole counts, and nothing else does, wherever a file was torn.
func TestDamagedLines(t *testing.T) {
	t.Parallel()
	one := lines()
	whole := one[1].Append([]byte("\n"))
	for n := range len(whole) {
		torn := append(bytes.Clone(whole[:n]), whole...)
		if got := parsed(torn); len(got) != 1 && n != len(whole)-1 || len(got) > 2 {
			t.Fatalf("%d lines of one that was torn at %d and a whole one", len(got), n)
		}
	}
	for i := range whole[:len(whole)-1] {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 4
		if got := parsed(damaged); i > 0 && len(got) != 0 {
			t.Errorf("byte %d changed, and it counts: %+v", i, got)
		}
	}
}

// TestLongLines: a line is no longer than 4 KiB, whatever a program calls its kernels, and has nothing in it that a
// terminal obeys.
func TestLongLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "\x1b", "é", "\xff", "\"", "<", "\u2028"} {
		long := strings.Repeat(text, 100_000)
		l := Line{Kind: Miss, At: at, App: long, Entry: EntryOf(aKey(1)), Label: long, Device: long, API: long, Reason: long, Nearest: long}
		b := l.Append(nil)
		got := parsed(b)
		if len(b) > 4096 || len(got) != 1 || len(got[0].App) > 64 || got[0].Label == "" {
			t.Errorf("%q: %d bytes, %+v", text, len(b), got)
		}
		if len(got) == 1 && (strings.ContainsAny(got[0].Label, "\x1b\u2028") || strings.Contains(got[0].Label, "\xff")) {
			t.Errorf("%q: %q", text, got[0].Label)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, l := range lines() {
		f.Add(l.Append(nil))
	}
	f.Add([]byte(`00000000 {"kind":"hits"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		// What is parsed is written as what is parsed.
		for _, l := range parsed(b) {
			again := parsed(l.Append(nil))
			if len(again) != 1 || len(l.Append(nil)) > maxLine {
				t.Fatalf("%+v is read as %+v", l, again)
			}
		}
		// The same without the sum, which no fuzzer guesses.
		for text := range bytes.SplitSeq(b, []byte("\n")) {
			_, text, _ = bytes.Cut(text, []byte(" "))
			for _, l := range parsed(summed(text)) {
				if again := parsed(l.Append(nil)); len(again) != 1 {
					t.Fatalf("%+v is read as %+v", l, again)
				}
			}
		}
	})
}
