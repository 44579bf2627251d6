package rootdir

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/tally"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk/evict"
)

const (
	MetaDir      = ".meta"
	TmpDir       = "tmp"
	LockFile     = "locks"
	accountFile  = "account"
	statsFile    = "stats"
	versionFile  = "VERSION"
	cacheTagFile = "CACHEDIR.TAG"
	OrderFile    = "order" // of earlier versions, in .meta; gc removes it

	layout = 1
)

// cacheTag keeps backup programs out; its first line is fixed by
// https://bford.info/cachedir/.
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# This directory is a cache made by kernstash. Everything in it can be made again.\n"

var errLayout = errors.New("laid out by another version of kernstash: set another directory")

// checkVersion refuses a root of another layout. A VERSION that is missing or
// unreadable says nothing.
func (p *Place) checkVersion(d safefs.Dir) error {
	b, _, err := p.ReadFile(d, versionFile, 64, nil)
	if err != nil {
		return nil
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && n != layout {
		return fmt.Errorf("layout %d, this is %d: %w", n, layout, errLayout)
	}
	return nil
}

// Meta is what writers need beside the entries.
type Meta struct {
	Dir, Tmp safefs.Dir
	Locks    *lock.Pool
	Account  *evict.Account
	Stats    *tally.File
}

const statsSlots = 16

// Meta returns .meta, which it makes if need be. What it returns is valid as
// long as the root is held.
func (r *Root) Meta() (*Meta, error) {
	m, err := r.openMeta(EnsureDir)
	if err == nil {
		r.first.Do(func() { r.begin(m) })
	}
	return m, err
}

// LookMeta is meta for who only looks: it makes nothing, and is fs.ErrNotExist
// where there is no .meta.
func (r *Root) LookMeta() (*Meta, error) { return r.openMeta(safefs.Dir.OpenDir) }

func (r *Root) openMeta(open func(safefs.Dir, string) (safefs.Dir, error)) (*Meta, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.metas != nil {
		return r.metas, nil
	}
	m := &Meta{}
	var err error
	if m.Dir, err = open(r.Dir, MetaDir); err != nil {
		return nil, err
	}
	if m.Tmp, err = open(m.Dir, TmpDir); err != nil {
		m.Dir.Close()
		return nil, err
	}
	m.Locks = lock.New(func() (safefs.File, error) { return openLocks(m.Dir) })
	m.Account = evict.NewAccount(tally.Place{Dir: m.Dir, Tmp: m.Tmp, Name: accountFile})
	m.Stats = tally.New(tally.Place{Dir: m.Dir, Tmp: m.Tmp, Name: statsFile}, statsSlots, stats.NumCounters)
	r.metas = m
	return m, nil
}

// begin writes what tells people and programs what the root is, before the
// first entry of this process.
func (r *Root) begin(m *Meta) {
	entries, others := false, false
	var before evict.Ledger
	accountErr := m.Account.Read(&before)
	err := r.Dir.Each(func(name string) bool {
		switch {
		case IsDirName(name):
			entries = true
		case name != MetaDir && name != versionFile && name != cacheTagFile:
			others = true
		}
		return true
	})
	writeOnce(r.Dir, m.Tmp, versionFile, strconv.Itoa(layout)+"\n")
	if err == nil && !others {
		// It keeps backup programs out, so it is not for a directory where
		// somebody keeps more.
		writeOnce(r.Dir, m.Tmp, cacheTagFile, cacheTag)
	}
	if err == nil && accountErr == nil && !entries {
		m.Account.Begin(&before, r.now().Unix())
	}
}

func (r *Root) metaGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.metas == nil {
		return false
	}
	for _, d := range []safefs.Dir{r.metas.Dir, r.metas.Tmp} {
		if info, err := d.Stat(); err != nil || info.Links == 0 {
			return true
		}
	}
	return false
}

func (m *Meta) close() {
	m.Locks.Close()
	m.Account.Close()
	m.Stats.Close()
	m.Tmp.Close()
	m.Dir.Close()
}

func openLocks(dir safefs.Dir) (safefs.File, error) {
	for range 4 {
		f, info, err := dir.OpenWrite(LockFile)
		if errors.Is(err, fs.ErrNotExist) {
			if f, err = dir.Create(LockFile); errors.Is(err, fs.ErrExist) {
				continue
			}
			return f, err
		}
		if err == nil && info.Kind != safefs.Regular {
			f.Close()
			f, err = safefs.File{}, ErrIrregular
		}
		if err != nil && neverLocks(err) {
			err = fmt.Errorf("lock file: %w: %w", lock.ErrUnsupported, err)
		}
		return f, err
	}
	return safefs.File{}, fmt.Errorf("lock file comes and goes: %w", lock.ErrUnsupported)
}

// neverLocks reports whether what is in the place of the lock file, as err tells,
// stays what it is: writers go without locks then, instead of failing for ever.
func neverLocks(err error) bool {
	return errors.Is(err, ErrIrregular) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EACCES)
}

// EnsureDir opens a directory in d, which it makes if need be.
func EnsureDir(d safefs.Dir, name string) (safefs.Dir, error) {
	sub, err := d.OpenDir(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return sub, err
	}
	if sub, err = d.Mkdir(name); errors.Is(err, fs.ErrExist) {
		return d.OpenDir(name)
	}
	return sub, err
}

// writeOnce makes a small file for people, unless it is there. It does not
// matter if it cannot be made.
func writeOnce(d, tmp safefs.Dir, name, text string) {
	if _, err := d.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		_ = d.Publish(tmp, name, false, time.Now().UnixNano(), []byte(text))
	}
}

const (
	binSuffix = ".bin"
	srcSuffix = ".src"
	dirDigits = 32
)

// LeafNames are the four directories of a key, outermost first.
type LeafNames [4]string

func (p *Place) Names(k key.Key) LeafNames {
	if p.Collide != nil {
		return p.Collide(k)
	}
	return k.Dirs()
}

func (l LeafNames) Path() string            { return strings.Join(l[:], "/") }
func (l LeafNames) File(name string) string { return l.Path() + "/" + name }

// LeafPrefix is the path of the first levels directories.
func LeafPrefix(l LeafNames, levels int) string { return strings.Join(l[:levels], "/") }

func BinName(n uint32) string { return strconv.FormatUint(uint64(n), 10) + binSuffix }
func SrcName(n uint32) string { return strconv.FormatUint(uint64(n), 10) + srcSuffix }

// SrcOf returns the path of the recipe of the entry at a path.
func SrcOf(bin string) string { return strings.TrimSuffix(bin, binSuffix) + srcSuffix }

// parseName reads "<n>.bin" or "<n>.src". Other names are not ours.
func parseName(name string) (n uint32, suffix string, ok bool) {
	digits, _, _ := strings.Cut(name, ".")
	suffix = name[len(digits):]
	if suffix != binSuffix && suffix != srcSuffix {
		return 0, "", false
	}
	v, err := strconv.ParseUint(digits, 10, 32)
	return uint32(v), suffix, err == nil && strconv.FormatUint(v, 10) == digits
}

// BinNumber returns the number of an entry's file.
func BinNumber(name string) (n uint32, ok bool) {
	n, suffix, ok := parseName(name)
	return n, ok && suffix == binSuffix
}

// IsDirName reports whether a directory of this name can be one of ours.
func IsDirName(name string) bool {
	return len(name) == dirDigits && strings.Trim(name, "0123456789abcdef") == ""
}

// The lock file is divided: build locks of keys, short locks of leaf
// directories, and a few bytes of one meaning each.
const (
	leafLocks    = 1 << 62
	specialLocks = leafLocks | 1<<61
	countByte    = specialLocks
	WorkerLock   = specialLocks + 1
	trimBytes    = specialLocks + 2 // evict.Locks of them
	recordsByte  = trimBytes + evict.Locks
	CatalogLock  = recordsByte + 1
)

// BuildLock is where the build lock of k is.
func BuildLock(k key.Key) int64 { return int64(binary.BigEndian.Uint64(k.Sum[:8]) >> 2) }

// leafOffset is where the lock of changes to one leaf directory is. It is not
// the build lock, which the caller of Put may hold; and it is of the
// directory, not of the key, since keys whose names collide share numbers.
func leafOffset(l LeafNames) int64 {
	sum := sha256.Sum256([]byte(l.Path()))
	return leafLocks | int64(binary.BigEndian.Uint64(sum[:8])>>3)
}

// block is the unit in which space is counted. What the account holds, and what
// the limit is for, is what du shows on a file system with blocks of this size:
// a file takes whole blocks, and a directory takes one. On others it takes less.
// The size of a file alone decides, so that whoever adds it and whoever takes it
// off, years later and perhaps on another file system, mean the same.
const block = 4096

// Blocks is what a file of size bytes takes.
func Blocks(size int64) int64 { return (size + block - 1) / block * block }

// FileUsage returns what the files of an entry take: each of them may be
// something else, or nil where there is none.
func FileUsage(bin, src *safefs.Info) evict.Usage {
	var u evict.Usage
	if bin != nil && bin.Kind == safefs.Regular {
		u.Bytes, u.Entries = Blocks(bin.Size), 1
	}
	if src != nil && src.Kind == safefs.Regular {
		u.Bytes += Blocks(src.Size)
	}
	return u
}

// Directories returns what n directories take.
func Directories(n int) evict.Usage { return evict.Usage{Bytes: int64(n) * block} }

// Stat says what a name is; nil: nothing is there, or nobody can know.
func Stat(leaf safefs.Dir, name string) *safefs.Info {
	if info, err := leaf.Lstat(name); err == nil {
		return &info
	}
	return nil
}

// AccountAdd adds to the account what was written to a slot's part of the root,
// or, with negative numbers, what was removed.
func (p *Place) AccountAdd(m *Meta, slot int, u evict.Usage) {
	if err := m.Account.Add(slot, u); err != nil {
		p.Trace.Debug("account not updated", "reason", err)
	}
}
