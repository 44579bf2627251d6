package compare

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// compareImages says what changed between two images. They are near if they
// have as many units, only one of which differs, and that in its headers or in
// less than half of its code.
func compareImages(now, was *key.Image) (what reason.Reason, changes []string, near bool) {
	a, b := unmatched(now.Units(), was.Units()), unmatched(was.Units(), now.Units())
	if len(a) != 1 || len(b) != 1 || a[0].Kind != b[0].Kind {
		return reason.NearestImage, nil, false
	}
	what = reason.NearestHeader
	if !bytes.Equal(a[0].Code, b[0].Code) {
		what = reason.NearestImage
		same := commonBytes(a[0].Code, b[0].Code)
		if 2*same <= max(len(a[0].Code), len(b[0].Code)) {
			return what, nil, false
		}
		changes = append(changes, codeChange(a[0].Code, b[0].Code))
	}
	changes = append(changes, compareHeaders(a[0].Headers, b[0].Headers)...)
	if a[0].Dir != b[0].Dir {
		changes = append(changes, dirChange(a[0].Dir, b[0].Dir))
	}
	return what, append(changes, compareFiles(&a[0], &b[0])...), true
}

// unmatched returns the units that others does not have.
func unmatched(units, others []key.Unit) []key.Unit {
	var out []key.Unit
	left := slices.Clone(others)
	for _, u := range units {
		i := slices.IndexFunc(left, func(o key.Unit) bool { return equalUnits(u, o) })
		if i < 0 {
			out = append(out, u)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	return out
}

func equalUnits(a, b key.Unit) bool {
	return a.Kind == b.Kind && bytes.Equal(a.Code, b.Code) && a.Digest() == b.Digest()
}

// commonBytes returns how many bytes two codes share at their ends.
func commonBytes(a, b []byte) int {
	head := commonPrefix(a, b)
	a, b = a[head:], b[head:]
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + tail
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func codeChange(now, was []byte) string {
	at := commonPrefix(now, was)
	if bytes.IndexByte(now, 0) >= 0 || bytes.IndexByte(was, 0) >= 0 {
		return fmt.Sprintf("code differs from byte %d on", at)
	}
	return fmt.Sprintf("code differs from line %d on", 1+bytes.Count(now[:at], []byte("\n")))
}

func compareHeaders(now, was []key.Header) []string {
	var changes []string
	find := func(list []key.Header, name string) int {
		return slices.IndexFunc(list, func(h key.Header) bool { return h.Name == name })
	}
	for _, h := range now {
		switch i := find(was, h.Name); {
		case i < 0:
			changes = append(changes, fmt.Sprintf("header %q is new", h.Name))
		case !bytes.Equal(h.Content, was[i].Content):
			changes = append(changes, fmt.Sprintf("header %q differs", h.Name))
		}
	}
	for _, h := range was {
		if find(now, h.Name) < 0 {
			changes = append(changes, fmt.Sprintf("header %q is gone", h.Name))
		}
	}
	return changes
}
