package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

var (
	errIrregular = errors.New("not a regular file of a trusted owner")
	errCollision = errors.New("an entry of another key under the same names")
	errReplaced  = errors.New("the entry was replaced")
	errMisplaced = errors.New("an entry of a key that does not belong here")
)

// atOnce is the largest file that is read before its header was checked. A
// larger one is not trusted to be as large as it says: it might be a hole.
const atOnce = 1 << 20

// headStart is what is read of a file whose header is wanted: most headers
// are shorter.
const headStart = 4096

// part says what of an entry is wanted.
type part uint8

const (
	first    part = 1 << iota // no binaries behind the first, where that saves something
	verified                  // the SHA-256 of the code is checked, too

	whole part = 0
)

// restLeast is the size from which on a file is looked at for what can be left
// unread.
const restLeast = 128 << 10

// openBin opens an entry and decides whether its file may be read at all.
func (s *Store) openBin(d beneath.Dir, path string) (beneath.File, beneath.Info, error) {
	f, info, err := d.Open(path)
	if err != nil {
		return f, info, err
	}
	if info.Kind != beneath.Regular || !s.trusted(info) {
		f.Close()
		return beneath.File{}, info, errIrregular
	}
	return f, info, nil
}

// readBin reads an entry. k, if not nil, is the key that it must have.
func readBin(f beneath.File, info beneath.Info, k *key.Key, p part) (*format.Header, *store.Artifact, error) {
	size := info.Size
	if info.Size > atOnce || p&first != 0 && info.Size > restLeast {
		h, err := readHeader(f, info)
		if err != nil {
			return nil, nil, err
		}
		if k != nil && h.Key != *k {
			return h, nil, errCollision
		}
		if p&first != 0 {
			size = h.FirstBytes()
		}
	}
	b := make([]byte, size)
	if err := readFull(f, b); err != nil {
		return nil, nil, err
	}
	decode := format.DecodeBin
	if p&verified != 0 {
		decode = format.VerifyBin
	}
	if size < info.Size {
		decode = func(b []byte) (*format.Header, *store.Artifact, error) { return format.DecodeFirst(b, info.Size) }
	}
	h, a, err := decode(b)
	if err == nil && k != nil && h.Key != *k {
		return h, nil, errCollision
	}
	return h, a, err
}

// readHeader reads and checks all of an entry but its log and code.
func readHeader(f beneath.File, info beneath.Info) (*format.Header, error) {
	b := make([]byte, min(info.Size, headStart))
	if err := readFull(f, b); err != nil {
		return nil, err
	}
	fixed, err := format.ParseFixed(b, info.Size)
	if err != nil {
		return nil, err
	}
	if fixed.HeaderBytes > int64(len(b)) {
		b = make([]byte, fixed.HeaderBytes) // at most the file's size
		if err := readFull(f, b); err != nil {
			return nil, err
		}
	}
	return format.ParseHeader(b, info.Size)
}

func readFull(f beneath.File, b []byte) error {
	_, err := f.ReadAt(b, 0)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return format.ErrTruncated // it shrank
	}
	return err
}

// missReason maps what went wrong with a file to what is counted.
func missReason(err error) reason.Reason {
	switch {
	case errors.Is(err, errCollision), errors.Is(err, errMisplaced):
		return reason.MissCollision
	case errors.Is(err, ErrOff):
		return reason.MissTierOff
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESTALE):
		return reason.MissAbsent
	case errors.Is(err, errIrregular), errors.Is(err, syscall.ELOOP),
		errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENXIO):
		return reason.MissIrregular
	case errors.Is(err, format.ErrTruncated):
		return reason.MissTruncated
	case errors.Is(err, format.ErrForeign):
		return reason.MissForeign
	case errors.Is(err, format.ErrVersion):
		return reason.MissVersion
	case errors.Is(err, format.ErrDigest), errors.Is(err, format.ErrMalformed):
		return reason.MissDigest
	}
	return reason.MissUnreadable
}

// damaged says whether the file that gave err can hit nowhere, so that it may
// be replaced or removed. Entries of other versions and other keys can; and
// running out of descriptors or memory says nothing about a file.
func damaged(err error) bool {
	switch missReason(err) {
	case reason.MissTruncated, reason.MissForeign, reason.MissDigest, reason.MissIrregular:
		return true
	case reason.MissUnreadable:
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO)
	}
	return false
}

// tellingOrder ranks reasons: a miss for several is told with the first.
var tellingOrder = []reason.Reason{
	reason.MissDigest, reason.MissTruncated, reason.MissForeign, reason.MissUnreadable,
	reason.MissIrregular, reason.MissVersion, reason.MissCollision, reason.MissAbsent,
}

// moreTelling returns the error that says more about a miss.
func moreTelling(a, b error) error {
	if a == nil {
		return b
	}
	ra, rb := missReason(a), missReason(b)
	for _, c := range tellingOrder {
		switch c {
		case ra:
			return a
		case rb:
			return b
		}
	}
	return a
}

func miss(err error) error {
	return &store.MissError{Reason: missReason(err), Cause: err}
}

func wrapPath(path string, err error) error { return fmt.Errorf("read %s: %w", path, err) }
