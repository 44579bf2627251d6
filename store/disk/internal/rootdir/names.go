package rootdir

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/key"
)

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

func BinName(n uint32) string { return strconv.FormatUint(uint64(n), 10) + binSuffix }
func SrcName(n uint32) string { return strconv.FormatUint(uint64(n), 10) + srcSuffix }

// parseName reads "<n>.bin" or "<n>.src". Other names are not ours.
func parseName(name string) (n uint32, suffix string, ok bool) {
	digits, suffix, found := strings.Cut(name, ".")
	suffix = "." + suffix
	if !found || suffix != binSuffix && suffix != srcSuffix {
		return 0, "", false
	}
	v, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || strconv.FormatUint(v, 10) != digits {
		return 0, "", false
	}
	return uint32(v), suffix, true
}

// IsDirName says whether a directory of this name can be one of ours.
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

// LeafPrefix is the path of the first levels directories.
func LeafPrefix(l LeafNames, levels int) string { return strings.Join(l[:levels], "/") }
