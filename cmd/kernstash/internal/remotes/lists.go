package remotes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Lists are the lists of header files (manifests) of a store on disk, as they were when they were read. An entry that
// was built from header files is found on another machine without a scan, and that of a compiler that is traced at
// all, if the list is there, too. Which lists an entry needs is told by the files: a list's name says nothing of an entry.
type Lists struct {
	d  *disk.Store
	of map[key.Digest][]key.Digest // names, by the digest of their files
}

// ReadLists reads them.
func ReadLists(ctx context.Context, d *disk.Store) (*Lists, error) {
	l := &Lists{d: d, of: make(map[key.Digest][]key.Digest)}
	for name, err := range d.Blobs(ctx, store.Manifests) {
		if err != nil {
			return nil, err
		}
		b, err := d.GetBlob(ctx, store.Manifests, name)
		if err != nil {
			continue // it went
		}
		if m, err := manifest.Parse(b, name); err == nil {
			sum := sumOfFiles(m.Files())
			l.of[sum] = append(l.of[sum], name)
		}
	}
	return l, nil
}

// ReadsFiles reports whether an entry needs lists.
func ReadsFiles(r *key.Recipe) bool {
	return slices.ContainsFunc(r.Image.Units(), func(u key.Unit) bool { return len(u.Files) > 0 })
}

// Of returns the names of the lists that an entry needs, and of those that name the same files.
func (l *Lists) Of(r *key.Recipe) (names []key.Digest) {
	for _, u := range r.Image.Units() {
		if len(u.Files) > 0 {
			names = append(names, l.of[sumOfFiles(u.Files)]...)
		}
	}
	return names
}

// sumOfFiles is a digest of what files hold.
func sumOfFiles(all []key.File) key.Digest {
	digests := make([]key.Digest, len(all))
	for i, f := range all {
		digests[i] = f.Digest
	}
	slices.SortFunc(digests, func(a, b key.Digest) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for _, d := range digests {
		h.Write(d[:])
	}
	return key.Digest(h.Sum(nil))
}

// Portable returns a list as other machines get it.
func (l *Lists) Portable(ctx context.Context, name key.Digest) ([]byte, error) {
	b, err := l.d.GetBlob(ctx, store.Manifests, name)
	if err == nil {
		b, err = manifest.Portable(b, name)
	}
	return b, err
}

// putLists puts lists into a remote which does not have them as they are, and returns how many.
func putLists(ctx context.Context, t Tier, lists *Lists, names []key.Digest) (put int64, err error) {
	for _, name := range names {
		b, err := lists.Portable(ctx, name)
		if err != nil {
			continue // it went, or is none
		}
		stored, err := putList(ctx, t, name, b)
		if err != nil {
			return put, fmt.Errorf("list of header files %s: %w", name.Dir(), err)
		}
		if stored {
			put++
		}
	}
	return put, nil
}

func putList(ctx context.Context, t Tier, name key.Digest, b []byte) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if there, err := t.Store.GetBlob(ctx, store.Manifests, name); err == nil && bytes.Equal(there, b) {
		return false, nil
	}
	return true, t.Store.PutBlob(ctx, store.Manifests, name, b)
}

// pullLists gets the lists of header files that a remote has and a store on disk has not, as far as they name some files,
// and returns how many.
func pullLists(ctx context.Context, t Tier, d *disk.Store, files map[key.Digest]bool) (got int64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	turns := make(chan struct{}, listsAtOnce)
	for o, err := range t.Objects.List(ctx, t.Store.Prefix()+"m/") {
		if err != nil {
			return got, err
		}
		name, err := key.ParseDigest(o.Name[strings.LastIndexByte(o.Name, '/')+1:])
		if err != nil || t.Store.ManifestName(name) != o.Name {
			continue
		}
		if _, err := d.GetBlob(ctx, store.Manifests, name); err == nil {
			continue
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			within, cancel := context.WithTimeout(ctx, putTimeout)
			defer cancel()
			b, err := t.Store.GetBlob(within, store.Manifests, name)
			if err == nil {
				b, err = manifest.Portable(b, name)
			}
			if err != nil {
				return // it is none, or nobody signed it who is trusted: header files are looked for
			}
			if m, err := manifest.Parse(b, name); err != nil || !files[sumOfFiles(m.Files())] || d.PutBlob(ctx, store.Manifests, name, b) != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got++
		})
	}
	wg.Wait()
	return got, ctx.Err()
}

const listsAtOnce = 16
