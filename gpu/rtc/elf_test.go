package rtc

import (
	"slices"
	"testing"
)

func FuzzELFSections(f *testing.F) {
	f.Add([]byte(elfMagic))
	f.Add(append([]byte(elfMagic+"\x02\x01"), make([]byte, 200)...))
	f.Fuzz(func(t *testing.T, code []byte) {
		if names, ok := elfSections(code); ok && len(names) == 0 || !ok && names != nil && len(code) < 64 {
			t.Errorf("%q, %v", names, ok)
		}
	})
}

func FuzzParseInput(f *testing.F) {
	for _, in := range []Input{{}, {Kind: 10, Too: true}, {Kind: 2, Named: true, Name: " too =x"}} {
		f.Add(in.String())
	}
	f.Fuzz(func(t *testing.T, s string) {
		in, err := parseInput(s)
		if again, failed := parseInput(in.String()); err == nil && (failed != nil || !slices.Equal([]any{again.Kind, again.Too, again.Named, again.Name}, []any{in.Kind, in.Too, in.Named, in.Name})) {
			t.Errorf("%q: %+v, then %+v, %v", s, in, again, failed)
		}
	})
}
