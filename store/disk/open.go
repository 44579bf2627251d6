package disk

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Open opens the file of an entry for somebody else to read, who checks it with
// [ReadEntry]: here only its header is looked at. The caller closes it. Of keys whose names
// collide it finds one only; Get finds all. Errors are those of Get.
func (s *Store) Open(ctx context.Context, k key.Key) (f safefs.File, size int64, err error) {
	path := s.at.Names(k).File(rootdir.BinName(0))
	err = s.at.Look(ctx, func(r *rootdir.Root) error {
		opened, info, err := s.at.OpenBin(r.Dir, path)
		if err == nil {
			if err = rootdir.CheckHeader(opened, info, &k); err == nil {
				err = s.vet(r.Dir, path, k, opened, info)
			}
			if err != nil {
				opened.Close()
			}
		}
		if err != nil {
			return rootdir.WrapPath(path, err)
		}
		s.recordUse(opened, info)
		s.count(stats.DiskBytesRead, info.Size)
		f, size = opened, info.Size
		return nil
	})
	return f, size, rootdir.Miss(err)
}

// ReadEntry reads and checks the file of an entry that somebody else has opened, as Get
// does. Errors are those of Get.
func ReadEntry(f safefs.File, k key.Key) (*store.Entry, error) {
	info, err := f.Stat()
	if err == nil && info.Kind != safefs.Regular {
		err = rootdir.ErrIrregular
	}
	if err == nil && info.Size > format.MaxSize {
		err = fmt.Errorf("%d bytes: %w", info.Size, fs.ErrInvalid)
	}
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	_, a, err := rootdir.ReadBin(f, info, &k, format.DecodeBin)
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	return &store.Entry{Key: k, Artifact: a}, nil
}
