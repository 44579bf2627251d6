package bundle

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/kernstash/kernstash/internal/leak"
)

// Leak is a text in what was compiled, or in what it was built from, that tells of the machine it was
// made on.
type Leak struct {
	Text string `json:"text"`
	File string `json:"file"` // the first one that holds it
	In   int    `json:"in"`   // how many files hold it
}

// Leaks looks for paths, but for those of the system, and for names, as of users and hosts, in what
// the files hold. It may be called once for a bundle that is a file, in place of Each. Text that is
// compressed or encoded is not found.
func (b *Reader) Leaks(ctx context.Context, names ...string) ([]Leak, error) {
	found := make(map[string]*Leak)
	err := b.Each(ctx, func(f File, r io.Reader) error {
		in := make(map[string]bool)
		if err := leak.Search(r, names, func(text string) { in[text] = true }); err != nil {
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
