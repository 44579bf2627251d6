// Package catalog keeps what the entries of a large cache are sorted by, in order, beside the cache, so that the first of a million
// are found without reading all. It is derived: from the entries, the records, which say what may be new, and the account,
// which says what else is to be read. What it says of an entry is compared with the entry when that is listed.
package catalog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// least is from how many entries on there is a catalog. Fewer are read as fast.
const least = 2000

// lockWait is how long another command's change of the catalog is waited for.
const lockWait = 2 * time.Second

// Catalog is that of one cache. It is for one goroutine.
type Catalog struct {
	d     *disk.Store
	r     *os.Root // the directory of the catalog
	state state
	stale map[string]differing // by location
}

// differing is what differs from what the catalog says.
type differing struct {
	disk.Facts
	gone bool
}

// state is what of the account the catalog knows. It is in a file of its own.
type state [disk.Parts]partState

type partState struct {
	disk.Mark
	generation int64 // of the part's file, at least; 0: it has to be read
}

const (
	stateName  = "state"
	stateMagic = "kscst\x00\x00\x01"
	stateBytes = 8 + disk.Parts*4*8 + 8
)

// Open brings the catalog up to date, and returns it. It returns nil where there is none: the cache is small, it is not to be
// written, or another command is making the catalog. To make it the first time takes as long as reading all entries; unless all is
// set, Open returns nil instead of that.
func Open(ctx context.Context, c cli.Cache, all bool) (*Catalog, error) {
	return open(ctx, c, all, least)
}

// open is Open for a cache of so many entries.
func open(ctx context.Context, c cli.Cache, all bool, least int64) (*Catalog, error) {
	st := c.Disk.Status()
	if !st.On || !st.Exists || st.Entries < least || c.Settings.Mode == settings.ModeReadOnly {
		return nil, nil
	}
	unlock, err := c.Disk.LockCatalog(ctx, lockWait)
	if err != nil {
		return nil, ctx.Err()
	}
	defer unlock()
	k := &Catalog{d: c.Disk, stale: make(map[string]differing)}
	if k.r, err = openDir(c.Disk, all); err != nil {
		return nil, nil // it may not be made
	}
	ready, err := k.refresh(ctx, c, all)
	if err != nil {
		err = fmt.Errorf("catalog: %w", err)
	}
	if err != nil || !ready {
		k.r.Close()
		return nil, err
	}
	return k, nil
}

// openDir opens the directory of the catalog, which it makes if it may, and follows no link out of the cache.
func openDir(d *disk.Store, mayMake bool) (*os.Root, error) {
	root, err := os.OpenRoot(d.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel, err := filepath.Rel(d.Dir(), d.Catalog())
	if err != nil {
		return nil, err
	}
	if mayMake {
		if err := root.Mkdir(rel, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return root.OpenRoot(rel)
}

// Close notes what was found to be other than the catalog says, and closes it.
func (k *Catalog) Close() {
	k.mend()
	k.r.Close()
}

func nameOf(part int) string { return fmt.Sprintf("%02x", part) }

// segment opens a part's file. One that is missing, damaged or older than the state says is an error.
func (k *Catalog) segment(part int) (*segment, error) {
	s, err := openSegment(k.r, nameOf(part))
	if err == nil && (s.generation < k.state[part].generation || k.state[part].generation == 0) {
		s.f.Close()
		err = fmt.Errorf("%s: %w", nameOf(part), errDamaged)
	}
	return s, err
}

// rows returns the rows of a part.
func (k *Catalog) rows(part int) ([]disk.Facts, error) {
	s, err := k.segment(part)
	if err != nil {
		return nil, err
	}
	defer s.f.Close()
	return s.rows()
}

// put writes a part's file.
func (k *Catalog) put(part int, rows []disk.Facts) (generation int64, err error) {
	generation = max(time.Now().UnixNano(), k.state[part].generation+1)
	return generation, k.write(nameOf(part), encode(rows, generation))
}

// write puts a file in its place as a whole.
func (k *Catalog) write(name string, b []byte) error {
	if err := k.r.WriteFile(name+".tmp", b, 0o600); err != nil {
		return err
	}
	err := k.r.Rename(name+".tmp", name)
	if err != nil && k.r.RemoveAll(name) == nil { // a directory, say
		err = k.r.Rename(name+".tmp", name)
	}
	return err
}

// readState reads the state. Of one that is missing or damaged nothing is known.
func (k *Catalog) readState() {
	k.state = state{}
	b, err := k.r.ReadFile(stateName)
	if err != nil || len(b) != stateBytes || string(b[:8]) != stateMagic {
		return
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	if uint64(word(len(b)/8-1)) != xxhash.Sum64(b[:len(b)-8]) {
		return
	}
	for i := range k.state {
		at := 1 + 4*i
		k.state[i] = partState{disk.Mark{Bytes: word(at), Churn: word(at + 1), Counted: word(at + 2)}, word(at + 3)}
	}
}

func (k *Catalog) writeState() error {
	b := []byte(stateMagic)
	for _, p := range k.state {
		for _, n := range []int64{p.Bytes, p.Churn, p.Counted, p.generation} {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return k.write(stateName, binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b)))
}

// refresh takes what the records say to be new, and reads the parts to which the account says that more was added, if it may. It
// reports whether the catalog is complete.
func (k *Catalog) refresh(ctx context.Context, c cli.Cache, all bool) (ready bool, err error) {
	marks, err := k.d.Marks() // what is added from now on is found by the next one
	if err != nil {
		return false, err
	}
	if k.readState(); k.state == (state{}) && !all {
		return false, nil
	}
	var read []int
	err = ledger.Fresh(ctx, k.d, func(all []records.Place) (found map[records.Place]bool, err error) {
		k.readState()
		found = make(map[records.Place]bool)
		fresh := make(map[int][]disk.Facts)
		for f, err := range k.d.FactsAt(ctx, all) {
			if err != nil {
				return nil, err
			}
			found[f.Place] = true
			part := disk.PartOf(f.Place)
			fresh[part] = append(fresh[part], f)
		}
		read, err = k.take(marks, fresh)
		return found, err
	})
	if err != nil || len(read) == 0 || !all {
		return err == nil && len(read) == 0, err
	}
	err = k.survey(ctx, c, marks, read)
	return err == nil, err
}

// take adds entries to their parts. It returns the parts that have to be read: to them more was added than that, or they
// are not known.
func (k *Catalog) take(marks [disk.Parts]disk.Mark, fresh map[int][]disk.Facts) (read []int, err error) {
	changed := false
	for part := range marks {
		p := &k.state[part]
		added := marks[part].Added(p.Mark)
		if added <= 0 && len(fresh[part]) == 0 && p.generation != 0 {
			if s, err := k.segment(part); err == nil {
				s.f.Close()
				if p.Mark != marks[part] {
					p.Mark, changed = marks[part], true
				}
				continue
			}
		}
		rows, err := k.rows(part)
		if err != nil {
			p.generation = 0
		}
		if p.generation != 0 {
			for _, f := range fresh[part] {
				var explained int64
				rows, explained = insert(rows, f)
				added -= explained
			}
			if len(fresh[part]) > 0 {
				if p.generation, err = k.put(part, rows); err != nil {
					return nil, err
				}
			}
		}
		if changed = true; p.generation == 0 || added > 0 {
			read = append(read, part)
			continue
		}
		p.Mark = marks[part]
	}
	if !changed {
		return nil, nil
	}
	return read, k.writeState()
}

// insert adds an entry to rows that are by place, and returns how much of what the account says to be added it may be.
func insert(rows []disk.Facts, f disk.Facts) (_ []disk.Facts, explained int64) {
	i, known := slices.BinarySearchFunc(rows, f, byPlace)
	if known { // it may have been removed and stored again, with its directories
		rows[i] = f
		return rows, f.Taken + 3*disk.Directory
	}
	levels := 1 // that are there: the device's is not counted
	for _, at := range []int{i - 1, i} {
		if at >= 0 && at < len(rows) {
			n := 0
			for n < 4 && string(rows[at].Place[16*n:16*n+16]) == string(f.Place[16*n:16*n+16]) {
				n++
			}
			levels = max(levels, n)
		}
	}
	return slices.Insert(rows, i, f), f.Taken + int64(4-levels)*disk.Directory
}

// survey reads all entries of parts.
func (k *Catalog) survey(ctx context.Context, c cli.Cache, marks [disk.Parts]disk.Mark, parts []int) error {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // a million names are most of the memory
	p := c.Progress()
	defer p.Done()
	total := max(k.d.Status().Entries*int64(len(parts))/disk.Parts, 0)
	progress := p.Counting("sorted, which is done once,", total)
	done, n := int64(0), 0
	err := k.d.Survey(ctx, parts, func(part int, all []disk.Facts) (err error) {
		if k.state[part].generation, err = k.put(part, all); err != nil {
			return err
		}
		k.state[part].Mark = marks[part]
		done += int64(len(all))
		progress(done)
		if n++; n%16 == 0 { // so that whoever stops it has not waited in vain
			return k.writeState()
		}
		return nil
	})
	return errors.Join(err, k.writeState())
}

// maxStale bounds what is mended at a time.
const maxStale = 20_000

// mend writes what differed. Nothing depends on it.
func (k *Catalog) mend() {
	if len(k.stale) == 0 {
		return
	}
	unlock, err := k.d.LockCatalog(context.Background(), 0)
	if err != nil {
		return
	}
	defer unlock()
	byPart := make(map[int]map[string]differing)
	for location, f := range k.stale {
		part := disk.PartOf(f.Place)
		if byPart[part] == nil {
			byPart[part] = make(map[string]differing)
		}
		byPart[part][location] = f
	}
	clear(k.stale)
	k.readState()
	for part, differ := range byPart {
		rows, err := k.rows(part)
		if err != nil {
			continue
		}
		rows = slices.DeleteFunc(rows, func(f disk.Facts) bool { return differ[f.Location()].gone })
		for i := range rows {
			if now, is := differ[rows[i].Location()]; is {
				rows[i] = now.Facts
			}
		}
		if _, err := k.put(part, rows); err != nil {
			return
		}
	}
}
