package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/volume"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

func (r *Report) checkSettings(s *settings.Settings) {
	const subject = "settings"
	if s.File != "" {
		r.Add(subject, tool.Info, "", "file %s", s.File)
	}
	for _, w := range s.Warnings {
		r.Add(subject, tool.Warn, "'kernstash config' lists the settings that there are", "%v", w)
	}
	switch {
	case s.Disable:
		r.Add(subject, tool.Fail, "unset it to have programs cached", "disable=1 (%v): nothing is cached", s.Origin("disable"))
	case !s.Persistent:
		r.Add(subject, tool.Fail, "unset it to have programs cached on disk",
			"persistent=0 (%v): the disk tier is off, a program that uses the Go library keeps artifacts for itself alone", s.Origin("persistent"))
	default:
		r.Add(subject, tool.OK, "", "make sense, and caching is on")
	}
	if !s.InMemory {
		r.Add(subject, tool.Warn, "", "in-mem=0 (%v): a process builds or loads a program each time that it asks", s.Origin("in-mem"))
	}
}

// checkRoot looks at the root, and stores, reads and removes an entry. Where there is no root it
// does so in a temporary directory where the root would be made, and leaves nothing behind.
func (r *Report) checkRoot(ctx context.Context, s *settings.Settings) {
	if s.Dir == "" {
		r.Add("root", tool.Fail, "set KERNSTASH_DIR", "neither a directory nor a home directory is set: the disk tier is off")
		return
	}
	subject := "root " + s.Dir
	info, err := os.Lstat(s.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Add(subject, tool.Info, "", "is not there yet; it is made when something is stored")
	case err != nil:
		r.Add(subject, tool.Fail, "set another directory (KERNSTASH_DIR)", "cannot be looked at: %v", err)
		return
	default:
		r.Add(subject, tool.Info, "", "%s", describeMode(info))
	}
	r.checkFileSystem(subject, s.Dir)
	o := cli.DiskOptions(s)
	if info == nil {
		if o.Dir, err = os.MkdirTemp(volume.Existing(s.Dir), ".kernstash-doctor-"); err != nil {
			r.Add(subject, tool.Fail, adviceFor(err), "it cannot be made: %v", err)
			return
		}
		defer os.RemoveAll(o.Dir)
	}
	d := disk.New(o)
	defer d.Close()
	k, err := probeStore(ctx, d)
	if err != nil {
		r.Add(subject, tool.Fail, adviceFor(err), "an entry cannot be stored and read again: %v", err)
		return
	}
	r.Add(subject, tool.OK, "", "an entry was stored, read again and removed")
	unlock, err := d.Lock(ctx, k, time.Second)
	if err != nil {
		r.Add(subject, tool.Warn, "processes that start together may each build the same program; nothing breaks",
			"there are no locks here: %v", err)
		return
	}
	unlock()
	r.Add(subject, tool.OK, "", "locks between processes work")
	r.checkWorker(ctx, s, d)
}

// checkFileSystem says what holds a directory, or would.
func (r *Report) checkFileSystem(subject, dir string) {
	f, err := volume.Of(dir)
	if err != nil || f.Kind == "" {
		r.Add(subject, tool.Info, "", "the type of the file system cannot be told")
		return
	}
	r.Add(subject, tool.Info, "", "on %s, %s free", f.Kind, human.Size(f.Free))
	const tight = 64 << 20
	if f.Free < tight {
		r.Add(subject, tool.Warn, "make room, or set another directory (KERNSTASH_DIR)", "little room is left")
	}
	if f.Network {
		r.Add(subject, tool.Warn, "a local directory starts faster",
			"%s is shared between machines: locks may not work, and what another machine stored may be seen late", f.Kind)
	}
	if f.Memory {
		r.Add(subject, tool.Warn, "set a directory on a disk (KERNSTASH_DIR)", "%s is empty again after a restart", f.Kind)
	}
}

// checkWorker says what waits for a worker.
func (r *Report) checkWorker(ctx context.Context, s *settings.Settings, d *disk.Store) {
	const subject = "worker"
	st, err := worker.Ask(ctx, d)
	switch {
	case err != nil:
		r.Add(subject, tool.Warn, "", "what waits for a worker cannot be looked at: %v", err)
	case st.Waiting == 0:
	case st.Running:
		r.Add(subject, tool.Info, "", "runs, and has %s to do", human.Plural(st.Waiting, "job"))
	default:
		r.Add(subject, tool.Info, "'kernstash worker run --once' does them; 'kernstash worker status' says what became of others",
			"%s waiting for a worker (setting worker=%s)", human.Plural(st.Waiting, "job"), s.Worker)
	}
}

func describeMode(info fs.FileInfo) string {
	kind := "a directory"
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		kind = "a symbolic link"
	case !info.IsDir():
		kind = "not a directory"
	}
	return fmt.Sprintf("%s, mode %04o, owner %s", kind, info.Mode().Perm(), ownerOf(info))
}

// adviceFor says what to do about an error of the store.
func adviceFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "give yourself write permission there, or set another directory (KERNSTASH_DIR)"
	case isReadOnly(err):
		return "the file system is read-only: set another directory (KERNSTASH_DIR), and name this one in KERNSTASH_LAYERS"
	case isFull(err):
		return "the file system is full: make room, or set another directory (KERNSTASH_DIR)"
	}
	return "correct that, or set another directory (KERNSTASH_DIR)"
}

// probeStore stores an entry that nobody else has, reads it again and removes it.
func probeStore(ctx context.Context, d *disk.Store) (key.Key, error) {
	code := append([]byte("kernstash doctor "), rand.Text()...)
	image, err := key.NewImage(key.Opaque, code)
	if err != nil {
		return key.Key{}, err
	}
	recipe := &key.Recipe{
		Device: key.Device{API: "kernstash", Platform: "kernstash", Name: "doctor's probe"},
		Image:  image,
	}
	e := &store.Entry{Key: recipe.Key(), Recipe: recipe, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: code}},
		Created:  time.Now(),
	}}
	if _, err := d.Put(ctx, e); err != nil {
		return e.Key, fmt.Errorf("store: %w", err)
	}
	got, err := d.Get(ctx, e.Key)
	deleteErr := d.Delete(ctx, e.Key)
	switch {
	case cmp.Or(err, deleteErr) != nil:
		return e.Key, fmt.Errorf("read: %w", cmp.Or(err, deleteErr))
	case !bytes.Equal(got.Artifact.Binaries[0].Data, code):
		return e.Key, errors.New("read: other bytes than were stored")
	}
	return e.Key, nil
}

// checkLayers reads what the read-only roots hold.
func (r *Report) checkLayers(ctx context.Context, s *settings.Settings) {
	for _, dir := range s.Layers {
		subject := "layer " + filepath.Clean(dir)
		if _, err := os.Stat(dir); err != nil {
			r.Add(subject, tool.Fail, "correct the setting layers", "%v", err)
			continue
		}
		l, err := lookAtLayer(ctx, dir)
		switch {
		case err != nil:
			r.Add(subject, tool.Fail, "correct that, or take it out of the setting layers", "%v", err)
		case l.bad > 0:
			r.Add(subject, tool.Warn, "files of a layer belong to you or to root, and nobody else may write them; 'kernstash bundle import --to' makes a layer anew",
				"%s, %d of them cannot hit; %s", human.Plural(l.entries, "entry"), l.bad, l.first)
		case l.open > 0:
			r.Add(subject, tool.Warn, "who may write a directory can take entries away; run: chmod -R go-w "+filepath.Clean(dir),
				"%s; others may write %s below it, the first is %s", human.Plural(l.entries, "entry"), human.Plural(l.open, "directory"), l.firstOpen)
		default:
			r.Add(subject, tool.OK, "", "%s", human.Plural(l.entries, "entry"))
		}
	}
}

// layer is what a read-only root holds.
type layer struct {
	entries   int
	bad       int    // entries that cannot hit
	first     string // of these, described
	open      int    // directories that others may write
	firstOpen string
}

func lookAtLayer(ctx context.Context, dir string) (l layer, err error) {
	d := disk.New(disk.Options{Dir: dir, ReadOnly: true})
	defer d.Close()
	var before []string // the directories of the last entry
	for info, err := range d.List(ctx) {
		if err != nil {
			return l, err
		}
		l.entries++
		dirs := strings.Split(path.Dir(info.Location), "/")
		for n := range dirs { // entries of a directory come together
			if at := path.Join(dirs[:n+1]...); n >= len(before) || path.Join(before[:n+1]...) != at {
				l.lookAtDirectory(dir, at)
			}
		}
		before = dirs
		if info.Bad == nil {
			continue
		}
		if l.bad++; l.bad == 1 {
			l.first = fmt.Sprintf("%s: %v", info.Location, info.Bad)
			if file, err := os.Lstat(filepath.Join(dir, info.Location)); err == nil {
				l.first += fmt.Sprintf(" (mode %04o, owner %s)", file.Mode().Perm(), ownerOf(file))
			}
		}
	}
	return l, nil
}

// lookAtDirectory notes a directory that others may write. Modes say nothing of that on Windows.
func (l *layer) lookAtDirectory(root, at string) {
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(at)))
	if err != nil || info.Mode().Perm()&0o022 == 0 || runtime.GOOS == "windows" {
		return
	}
	if l.open++; l.open == 1 {
		l.firstOpen = fmt.Sprintf("%s (mode %04o, owner %s)", at, info.Mode().Perm(), ownerOf(info))
	}
}
