package rootdir

import (
	"errors"
	"fmt"
	"io"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// ReadRecipe reads a .src at a path and returns its size as well. One larger
// than most is not read.
func (p *Place) ReadRecipe(d safefs.Dir, path string, most int64) (*key.Recipe, int64, error) {
	f, info, err := p.OpenBin(d, path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info.Size > most {
		return nil, info.Size, fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)
	}
	// A large file is not trusted to be as large as it says: it might be a
	// hole. Its digest is checked before it gets memory.
	if info.Size > AtOnce {
		if err := checkSrc(f, info.Size); err != nil {
			return nil, info.Size, err
		}
	}
	b := make([]byte, info.Size)
	if err := ReadFull(f, b); err != nil {
		return nil, info.Size, err
	}
	rec, err := format.DecodeSrc(b)
	return rec, info.Size, err
}

// checkSrc checks all of a .src of size bytes, with little memory.
func checkSrc(f safefs.File, size int64) error {
	b := make([]byte, format.SrcHeaderBytes)
	if err := ReadFull(f, b); err != nil {
		return err
	}
	if err := format.CheckSrc(b, size); err != nil {
		return err
	}
	err := format.CheckSrcDigest(b, io.NewSectionReader(f, format.SrcHeaderBytes, size-format.SrcHeaderBytes))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return format.ErrTruncated // it shrank
	}
	return err
}
