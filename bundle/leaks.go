package bundle

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/pattern"
)

// Leak is a text in what was compiled, or in what it was built from, that tells of the machine it was
// made on.
type Leak struct {
	Text string `json:"text"`
	File string `json:"file"` // the first one that holds it
	In   int    `json:"in"`   // how many files hold it
}

// places are paths of two parts or more; system says which of them every machine has.
var (
	places = pattern.Lazy(`/[A-Za-z0-9._+-]{2,}(?:/[A-Za-z0-9._+-]+)+`)
	system = []string{"/usr/", "/lib/", "/lib64/", "/bin/", "/etc/", "/proc/", "/sys/", "/dev/"}
)

// longest is the longest text that is found for sure.
const longest = 4096

// Leaks looks for paths, but for those of the system, and for names, as of users and hosts, in what
// the files hold. It may be called once for a bundle that is a file, in place of Each. Text that is
// compressed or encoded is not found.
func (b *Reader) Leaks(ctx context.Context, names ...string) ([]Leak, error) {
	found := make(map[string]*Leak)
	err := b.Each(ctx, func(f File, r io.Reader) error {
		in := make(map[string]bool)
		if err := search(r, names, in); err != nil {
			return err
		}
		for text := range in {
			if found[text] == nil {
				found[text] = &Leak{Text: text, File: f.Path}
			}
			found[text].In++
		}
		return nil
	})
	leaks := make([]Leak, 0, len(found))
	for _, text := range slices.Sorted(maps.Keys(found)) {
		leaks = append(leaks, *found[text])
	}
	return leaks, err
}

// search adds what it finds in r to in. It reads in windows that overlap.
func search(r io.Reader, names []string, in map[string]bool) error {
	window := make([]byte, 0, 1<<20)
	for {
		n, err := io.ReadFull(r, window[len(window):cap(window)])
		window = window[:len(window)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		text := string(window)
		for _, at := range places().FindAllStringIndex(text, -1) {
			of := func(prefix string) bool { return strings.HasPrefix(text[at[0]:at[1]], prefix) }
			// What reaches the end is whole in the next window.
			if (last || at[1] < len(text)) && !slices.ContainsFunc(system, of) {
				in[text[at[0]:at[1]]] = true
			}
		}
		for _, name := range names {
			if name != "" && strings.Contains(text, name) {
				in[name] = true
			}
		}
		if last {
			return nil
		}
		window = append(window[:0], window[max(0, len(window)-longest):]...)
	}
}
