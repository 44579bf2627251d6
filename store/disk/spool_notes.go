package disk

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// A Note is a small file in .meta that processes leave for each other. No account is kept
// of notes.
type Note string

// The notes.
const (
	WorkerNote Note = "worker"      // how the worker is, or was last
	StopNote   Note = "worker-stop" // the worker is asked to end
	FilesNote  Note = "files"       // digests of compilers and of what they read, see internal/contents
)

const maxNote = 256 << 10

// workDir is the directory in .meta in which a worker's builders work.
const workDir = "work"

// PutNote writes a note in the place of the last one.
func (s *Store) PutNote(ctx context.Context, n Note, b []byte) error {
	err := s.at.Write(ctx, func(_ *rootdir.Root, m *rootdir.Meta) error {
		return m.Dir.Publish(m.Tmp, string(n), true, s.at.NowNanos(), b)
	})
	if err != nil {
		return fmt.Errorf("write note %s: %w", n, err)
	}
	return nil
}

// ReadNote returns a note, and when it was written. One that is not there is
// fs.ErrNotExist.
func (s *Store) ReadNote(n Note) (b []byte, at time.Time, err error) {
	err = s.at.Look(context.Background(), func(r *rootdir.Root) error {
		var info safefs.Info
		b, info, err = s.at.ReadFile(r.Dir, rootdir.MetaDir+"/"+string(n), maxNote, nil)
		at = time.Unix(0, info.Mtime)
		return err
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read note %s: %w", n, err)
	}
	return b, at, nil
}

// RemoveNote removes a note. One that is not there is no error.
func (s *Store) RemoveNote(n Note) {
	_ = s.at.Change(context.Background(), func(r *rootdir.Root) error {
		d, err := r.Dir.OpenDir(rootdir.MetaDir)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Remove(string(n))
	})
}

// WorkDir returns the path of the directory in which the builders of the one worker
// work, and makes it. Only who holds the worker's lock may use it. It is on the
// root's file system, from which drivers must be able to load code.
func (s *Store) WorkDir(ctx context.Context) (string, error) {
	err := s.at.Write(ctx, func(_ *rootdir.Root, m *rootdir.Meta) error {
		d, err := rootdir.EnsureDir(m.Dir, workDir)
		if err != nil {
			return err
		}
		defer d.Close()
		info, err := d.Stat()
		if err == nil && (info.Kind != safefs.Directory || !s.at.Trusted(info)) {
			err = rootdir.ErrIrregular
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("directory of the worker: %w", err)
	}
	return filepath.Join(s.o.Dir, rootdir.MetaDir, workDir), nil
}

// Dir returns the root, absolute.
func (s *Store) Dir() string { return s.o.Dir }

// ReadDigests implements contents.Shared.
func (s *Store) ReadDigests() ([]byte, error) {
	b, _, err := s.ReadNote(FilesNote)
	return b, err
}

// WriteDigests implements contents.Shared.
func (s *Store) WriteDigests(b []byte) error {
	return s.PutNote(context.Background(), FilesNote, b)
}
