package rootdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

var (
	ErrIrregular = errors.New("not a regular file of a trusted owner")
	ErrCollision = errors.New("an entry of another key under the same names")
	ErrUntrusted = errors.New("nobody who is trusted vouches for it")
	ErrMisplaced = errors.New("an entry of a key that does not belong here")
)

// atOnce is the largest file that is read before its header was checked. A
// larger one is not trusted to be as large as it says: it might be a hole.
const atOnce = 1 << 20

// firstLeast is the size from which on of a file no more than the first binary is read for who
// needs no more. Of a smaller one that would save nothing.
const firstLeast = 128 << 10

// headStart is what is read of a file whose header is wanted: most headers are shorter.
const headStart = 4096

// OpenBin opens an entry and decides whether its file may be read at all.
func (p *Place) OpenBin(d safefs.Dir, path string) (safefs.File, safefs.Info, error) {
	f, info, err := d.Open(path)
	if err != nil {
		return f, info, err
	}
	if info.Kind != safefs.Regular || !p.Trusted(info) {
		f.Close()
		return safefs.File{}, info, ErrIrregular
	}
	return f, info, nil
}

// Load opens and reads an entry; see ReadBin.
func (p *Place) Load(d safefs.Dir, path string, k *key.Key, decode Decode) (*format.Header, *store.Artifact, error) {
	f, info, err := p.OpenBin(d, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadBin(f, info, k, decode)
}

// Header reads and checks all of an entry but its log and code.
func (p *Place) Header(d safefs.Dir, path string) (*format.Header, error) {
	f, info, err := p.OpenBin(d, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readHeader(f, info)
}

// Owns returns nil if an entry is of key k, going by its header.
func (p *Place) Owns(d safefs.Dir, path string, k key.Key) error {
	h, err := p.Header(d, path)
	if err == nil && h.Key != k {
		err = ErrCollision
	}
	return err
}

// ReadFile reads a file of at most maxSize bytes. A large one is not trusted to be as
// large as it says, it might be a hole: check, unless nil, is to read it with little
// memory before it gets its own.
func (p *Place) ReadFile(d safefs.Dir, path string, maxSize int64, check func(f safefs.File, size int64) error) ([]byte, safefs.Info, error) {
	f, info, err := p.OpenBin(d, path)
	if err != nil {
		return nil, info, err
	}
	defer f.Close()
	if info.Size > maxSize {
		return nil, info, fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)
	}
	if check != nil && info.Size > atOnce {
		if err := check(f, info.Size); err != nil {
			return nil, info, err
		}
	}
	b := make([]byte, info.Size)
	return b, info, readFull(f, b)
}

// ReadRecipe reads a .src of at most maxSize bytes.
func (p *Place) ReadRecipe(d safefs.Dir, path string, maxSize int64) (*key.Recipe, error) {
	b, _, err := p.ReadFile(d, path, maxSize, checkSrc)
	if err != nil {
		return nil, err
	}
	return format.DecodeSrc(b)
}

// ReadSeal reads the seal of a .src; nil: there is none.
func (p *Place) ReadSeal(d safefs.Dir, path string) ([]byte, error) {
	f, info, err := p.OpenBin(d, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := format.SrcSeal(f, info.Size)
	return b, truncated(err)
}

// checkSrc checks all of a .src of size bytes.
func checkSrc(f safefs.File, size int64) error {
	b := make([]byte, format.SrcHeaderBytes)
	if err := readFull(f, b); err != nil {
		return err
	}
	if err := format.CheckSrc(b, size); err != nil {
		return err
	}
	return truncated(format.CheckSrcDigest(b, io.NewSectionReader(f, format.SrcHeaderBytes, size-format.SrcHeaderBytes)))
}

// Decode is format.DecodeBin, or VerifyBin.
type Decode func([]byte) (*format.Header, *store.Artifact, error)

// ReadBin reads an entry. k, if not nil, is the key that it must have.
func ReadBin(f safefs.File, info safefs.Info, k *key.Key, decode Decode) (*format.Header, *store.Artifact, error) {
	if info.Size > atOnce {
		h, err := readHeader(f, info)
		if err != nil {
			return nil, nil, err
		}
		if k != nil && h.Key != *k {
			return h, nil, ErrCollision
		}
	}
	b := make([]byte, info.Size)
	if err := readFull(f, b); err != nil {
		return nil, nil, err
	}
	h, a, err := decode(b)
	if err == nil && k != nil && h.Key != *k {
		return h, nil, ErrCollision
	}
	return h, a, err
}

// ReadFirst is ReadBin of an entry of key k whose other binaries need not be read. The code of a large one is in buf.
func ReadFirst(f safefs.File, info safefs.Info, k *key.Key, buf *store.Buffer) (*format.Header, *store.Artifact, error) {
	if info.Size < firstLeast {
		return ReadBin(f, info, k, format.DecodeBin)
	}
	h, err := readHeader(f, info)
	if err != nil {
		return nil, nil, err
	}
	if h.Key != *k {
		return h, nil, ErrCollision
	}
	b := buf.Bytes(h.FirstBytes())
	if _, err := f.ReadAt(b, h.HeaderBytes); err != nil {
		return nil, nil, truncated(err)
	}
	a, err := h.Artifact(b, 1)
	return h, a, err
}

// CheckHeader returns nil if all of an entry but its log and code is right, and of key k.
func CheckHeader(f safefs.File, info safefs.Info, k *key.Key) error {
	h, err := readHeader(f, info)
	if err == nil && h.Key != *k {
		err = ErrCollision
	}
	return err
}

func readHeader(f safefs.File, info safefs.Info) (*format.Header, error) {
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

func readFull(f safefs.File, b []byte) error {
	_, err := f.ReadAt(b, 0)
	return truncated(err)
}

// truncated returns the error of a file that shrank as what it is.
func truncated(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return format.ErrTruncated
	}
	return err
}

// missReason maps what went wrong with a file to what is counted.
func missReason(err error) reason.Reason {
	switch {
	case errors.Is(err, ErrCollision), errors.Is(err, ErrMisplaced):
		return reason.MissCollision
	case errors.Is(err, ErrUntrusted):
		return reason.MissUntrusted
	case errors.Is(err, ErrOff):
		return reason.MissTierOff
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESTALE):
		return reason.MissAbsent
	case errors.Is(err, ErrIrregular), errors.Is(err, syscall.ELOOP),
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

// Damaged reports whether the file that gave err can hit nowhere, so that it may
// be replaced or removed. Entries of other versions and other keys can; and
// running out of descriptors or memory says nothing about a file.
func Damaged(err error) bool {
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
	reason.MissUntrusted, reason.MissDigest, reason.MissTruncated, reason.MissForeign, reason.MissUnreadable,
	reason.MissIrregular, reason.MissVersion, reason.MissCollision, reason.MissAbsent,
}

// MoreTelling returns the error that says more about a miss.
func MoreTelling(a, b error) error {
	rank := func(err error) uint { return uint(slices.Index(tellingOrder, missReason(err))) } // -1 is last
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// Miss returns why something was not found; nil if err is.
func Miss(err error) error {
	if err == nil {
		return nil
	}
	return &store.MissError{Reason: missReason(err), Cause: err}
}

func WrapPath(path string, err error) error { return fmt.Errorf("read %s: %w", path, err) }
