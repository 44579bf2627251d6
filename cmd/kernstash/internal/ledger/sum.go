package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
)

// The index's library believes what the file holds: damage makes it panic, loop, or take all memory. So the digest of
// the file stands beside it whenever nobody is changing it.

// maxSummed bounds the index that is looked at: 10 ms. A larger one, of some 75,000 entries, is believed.
const maxSummed = 64 << 20

// hurriedSummed is maxSummed for who has 50 ms for all.
const hurriedSummed = 32 << 20

const sumSuffix = ".sum"

// inRoot calls f with the root of the cache, out of which no link leads, and the path of the index in it.
func (l *Ledger) inRoot(f func(r *os.Root, rel string) error) error {
	r, err := os.OpenRoot(l.d.Dir())
	if err != nil {
		return err
	}
	defer r.Close()
	rel, err := filepath.Rel(l.d.Dir(), l.d.RecordsIndex())
	if err != nil {
		return err
	}
	return f(r, rel)
}

// sum returns the digest of the index's file; "": it has more than most bytes.
func sum(r *os.Root, rel string, most int64) (string, error) {
	f, err := r.Open(rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > most {
		return "", err
	}
	h := xxhash.New()
	n, err := io.Copy(h, f)
	return fmt.Sprintf("%016x %d\n", h.Sum64(), n), err
}

// checkSum returns an error that wraps errBroken where the index is not what was left there. Where no digest
// stands beside it, since somebody changes it or was killed while he did, nothing is known.
func (l *Ledger) checkSum() error {
	return l.inRoot(func(r *os.Root, rel string) error {
		left, err := r.ReadFile(rel + sumSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		most := int64(maxSummed)
		if l.hurried {
			most = hurriedSummed
		}
		is, err := sum(r, rel, most)
		if err != nil || is == string(left) || is == "" {
			return err
		}
		// Whoever changes it takes the digest away before.
		if now, err := r.ReadFile(rel + sumSuffix); err != nil || string(now) != string(left) {
			return nil
		}
		return fmt.Errorf("%w: its digest is another", errBroken)
	})
}

// unsum takes the digest away: the index is about to be changed.
func (l *Ledger) unsum() error {
	return l.inRoot(func(r *os.Root, rel string) error {
		if err := r.Remove(rel + sumSuffix); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// putSum puts the digest beside the index, which is still this process's alone.
func (l *Ledger) putSum() {
	_ = l.inRoot(func(r *os.Root, rel string) error { // without it, it is believed
		is, err := sum(r, rel, maxSummed)
		if err != nil || is == "" {
			return err
		}
		return r.WriteFile(rel+sumSuffix, []byte(is), 0o600)
	})
}
