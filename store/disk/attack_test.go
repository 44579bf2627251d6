//go:build linux

package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
	"github.com/kernstash/kernstash/store/storetest"
	"golang.org/x/sys/unix"
)

// victimText is what nobody may change.
const victimText = "precious"

// hostile are the things that lie where a file or directory of ours belongs.
// victim is a file that they may lead to.
var hostile = map[string]func(t *testing.T, path, victim string){
	"FIFO":         func(t *testing.T, p, _ string) { must(t, syscall.Mkfifo(p, 0o600)) },
	"socket":       makeSocket,
	"link to file": func(t *testing.T, p, victim string) { must(t, os.Symlink(victim, p)) },
	"link to directory": func(t *testing.T, p, victim string) {
		must(t, os.Symlink(filepath.Dir(victim), p))
	},
	"dangling link": func(t *testing.T, p, victim string) {
		must(t, os.Symlink(filepath.Join(filepath.Dir(victim), "made"), p))
	},
	"hard link":      func(t *testing.T, p, victim string) { must(t, os.Link(victim, p)) },
	"endless device": makeDevice,
	"directory":      func(t *testing.T, p, _ string) { must(t, os.MkdirAll(filepath.Join(p, "inside"), 0o700)) },
	"text":           func(t *testing.T, p, _ string) { must(t, os.WriteFile(p, []byte("hello"), 0o600)) },
	"empty":          func(t *testing.T, p, _ string) { must(t, os.WriteFile(p, nil, 0o600)) },
	"hole of 1 TiB":  makeHole,
	"unreadable":     func(t *testing.T, p, _ string) { must(t, os.WriteFile(p, []byte("hello"), 0)) },
}

func makeSocket(t *testing.T, path, _ string) {
	// A socket's path is short, and the test's is not.
	dir, err := os.MkdirTemp("", "ks-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", dir+"/s")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	must(t, os.Rename(dir+"/s", path))
}

func makeDevice(t *testing.T, path, _ string) {
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can make devices")
	}
	if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
		t.Skip("NOT RUN: no devices can be made here:", err)
	}
}

func makeHole(t *testing.T, path, _ string) {
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip("NOT RUN: no holes of this size here:", err)
	}
}

// TestHostilePlaces: whatever lies in the place of any file or directory of
// ours, no operation hangs, nothing outside is changed or made, and a get is
// either right or a miss.
func TestHostilePlaces(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := withFiles(t, "e", headerText)
	names := s.at.Names(e.Key)
	header, manifest := shared.Blob(store.Headers, digestOf(headerText)).Path(), shared.Blob(store.Manifests, digestOf(manifestName)).Path()
	places := []string{
		header, path.Dir(header), path.Dir(path.Dir(header)), manifest, path.Dir(manifest), path.Dir(path.Dir(manifest)),
		versionFile, cacheTagFile, rootdir.MetaDir, rootdir.MetaDir + "/" + rootdir.TmpDir, rootdir.MetaDir + "/" + rootdir.LockFile,
		rootdir.MetaDir + "/" + accountFile, rootdir.MetaDir + "/" + statsFile, rootdir.MetaDir + "/" + rootdir.TmpDir + "/put.1.0",
		rootdir.MetaDir + "/" + string(shared.Spool), rootdir.MetaDir + "/" + string(shared.Spool) + "/" + spoolDirName, (shared.File{Kind: shared.Spool, Dir: spoolDirName, Name: spoolName}).Path(),
		rootdir.MetaDir + "/" + string(WorkerNote), rootdir.MetaDir + "/" + string(StopNote), rootdir.MetaDir + "/" + string(WaitNote), rootdir.MetaDir + "/" + string(FilesNote), rootdir.MetaDir + "/" + workDir,
		rootdir.LeafPrefix(names, 1), rootdir.LeafPrefix(names, 4), names.File(rootdir.BinName(0)), names.File(rootdir.SrcName(0)), names.File(rootdir.BinName(1)),
	}
	for kind, make := range hostile {
		for _, place := range places {
			t.Run(kind+" as "+strings.ReplaceAll(strings.ReplaceAll(place, names.Path(), "leaf"), names[0], "device"), func(t *testing.T) {
				t.Parallel()
				attackPlace(t, e, place, make)
			})
		}
	}
}

// What the cache holds beside an entry when it is attacked.
const (
	headerText   = "int x;"
	manifestName = "name"
)

func attackPlace(t *testing.T, e *store.Entry, place string, make func(t *testing.T, path, victim string)) {
	s := open(t, func(o *Options) { o.MaxSize = 1 << 20 })
	put(t, s, e, store.Stored)
	must(t, s.PutBlob(bg, store.Manifests, digestOf(manifestName), []byte("manifest")))
	must(t, s.AddStats(oneHit()))
	_, err := s.SpoolPut(bg, spoolDirName, spoolName, func() ([]byte, error) { return []byte("job"), nil })
	must(t, err)
	must(t, s.PutNote(bg, WorkerNote, []byte("note")))
	must(t, s.WriteDigests([]byte("digests")))
	_, err = s.WorkDir(bg)
	must(t, err)
	must(t, s.Close())
	// A link must stay within a file system, so the victim is beside the root.
	outside := filepath.Join(filepath.Dir(s.o.Dir), "outside")
	must(t, os.Mkdir(outside, 0o700))
	victim := filepath.Join(outside, "victim")
	must(t, os.WriteFile(victim, []byte(victimText), 0o600))
	past := time.Unix(1_000_000_000, 0)
	setMtime(t, victim, past)
	at := filepath.Join(s.o.Dir, place)
	must(t, os.RemoveAll(at))
	make(t, at, victim)

	done := time.AfterFunc(3*time.Minute, func() { panic("an operation hangs: " + t.Name()) })
	defer done.Stop()
	for _, readOnly := range []bool{true, false} {
		o := s.o
		o.ReadOnly = readOnly
		s := New(o)
		useEverything(t, s, e)
		if err := s.Close(); err != nil {
			t.Logf("close: %v", err)
		}
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != victimText {
		t.Errorf("the victim is %q, %v", b, err)
	}
	if info, err := os.Stat(victim); err != nil || !info.ModTime().Equal(past) || info.Mode().Perm() != 0o600 {
		t.Errorf("the victim was touched: %v", info)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("made outside: %v", list)
	}
}

// useEverything calls all that a store can do. Errors are allowed, wrong
// answers are not.
func useEverything(t *testing.T, s *Store, e *store.Entry) {
	t.Helper()
	get := func() {
		got, err := s.Get(bg, e.Key)
		var miss *store.MissError
		if err == nil && string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data) {
			t.Error("other code")
		} else if err != nil && !errors.As(err, &miss) {
			t.Errorf("get: %v, want a miss", err)
		}
	}
	get()
	_, err := s.Put(bg, e)
	if unlock, lockErr := s.Lock(bg, e.Key, 0); lockErr == nil {
		unlock()
	}
	if get(); err == nil && !s.o.ReadOnly {
		wantHit(t, s, e)
	}
	if b, err := s.GetBlob(bg, store.Headers, digestOf(headerText)); err == nil && string(b) != headerText {
		t.Errorf("header %q", b)
	}
	_ = s.HasBlob(store.Headers, digestOf(headerText), int64(len(headerText)))
	_, _ = s.GetBlob(bg, store.Manifests, digestOf(manifestName))
	_ = s.PutBlob(bg, store.Manifests, digestOf(manifestName), []byte("manifest"))
	_, _ = s.Recipe(bg, e.Key)
	useSpool(t, s)
	_ = s.AddStats(oneHit())
	_, _ = s.Stats()
	_ = s.Status()
	for range s.List(bg) {
	}
	_, _ = s.Verify(bg, true, nil)
	_, _ = s.GC(bg, GCOptions{MaxSize: 1}, nil)
	_ = s.Delete(bg, e.Key)
	_, _ = s.Clear(bg, nil, nil)
	get()
}

// TestEntryWithTwoNames: a hard link adds nobody who may write the file, so
// the entry hits (backups and deduplication make such links). It is never
// written in place: what replaces it leaves the other name alone.
func TestEntryWithTwoNames(t *testing.T) {
	t.Parallel()
	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	other := filepath.Join(t.TempDir(), "backup")
	must(t, os.Link(binPath(s, e.Key), other))
	wantHit(t, s, e)
	must(t, os.Truncate(binPath(s, e.Key), 40))
	put(t, s, e, store.Bettered)
	wantHit(t, s, e)
	if info, err := os.Stat(other); err != nil || info.Size() != 40 {
		t.Errorf("the other name was written to: %v, %v", info, err)
	}
}

// TestHostileNames: nothing that a request or a driver says becomes part of a
// path.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, name := range []string{"../../../../etc/passwd", "/etc/passwd", "a\x00b", "\n", strings.Repeat("x", 1<<20), "CON", ".."} {
		e := storetest.New(t, "e", 100)
		e.Recipe.Device.Name, e.Recipe.Device.Platform, e.Recipe.Device.Driver = name, name, name
		e.Recipe.Options.Compile = []string{name}
		e.Key = e.Recipe.Key()
		put(t, s, e, store.Stored)
		wantHit(t, s, e)
	}
	must(t, filepath.WalkDir(s.o.Dir, func(path string, _ os.DirEntry, err error) error {
		must(t, err)
		rel, err := filepath.Rel(s.o.Dir, path)
		must(t, err)
		for _, part := range strings.Split(rel, "/") {
			isFile := entryFile.MatchString(part)
			known := map[string]bool{
				".": true, rootdir.MetaDir: true, rootdir.TmpDir: true, rootdir.LockFile: true, accountFile: true, statsFile: true,
				versionFile: true, cacheTagFile: true,
			}
			if !isFile && !rootdir.IsDirName(part) && !known[part] {
				t.Errorf("a name on disk: %q", rel)
			}
		}
		return nil
	}))
}

// TestRootIsSwapped: an attacker who owns the directory above may put another
// root in our root's place at any time. What was opened stays what was
// checked, and what is opened anew is checked anew.
func TestRootIsSwapped(t *testing.T) {
	t.Parallel()
	forged := storetest.New(t, "forged", 100)
	theirs := open(t)
	put(t, theirs, forged, store.Stored)
	must(t, theirs.Close())
	must(t, filepath.WalkDir(theirs.o.Dir, func(path string, _ os.DirEntry, err error) error {
		giveAway(t, path)
		return err
	}))

	s := open(t)
	e := storetest.New(t, "e", 100)
	put(t, s, e, store.Stored)
	must(t, os.Rename(s.o.Dir, s.o.Dir+".old"))
	must(t, os.Rename(theirs.o.Dir, s.o.Dir))
	wantMiss(t, s, forged.Key, reason.MissAbsent)
	wantHit(t, s, e)
	again := New(Options{Dir: s.o.Dir})
	defer again.Close()
	wantMiss(t, again, forged.Key, reason.MissTierOff)
	if _, err := again.Put(bg, e); !errors.Is(err, ErrOff) {
		t.Errorf("put: %v, want ErrOff", err)
	}
}

// TestSharedParent: a root below a directory that all may write to, as /tmp. A
// name that somebody took first is refused; one that is ours works; a link
// that leads there is followed, and what it leads to is checked like any
// other.
func TestSharedParent(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	must(t, os.Chmod(top, 0o1777))
	e := storetest.New(t, "e", 100)

	ours := New(Options{Dir: filepath.Join(top, "ours")})
	defer ours.Close()
	put(t, ours, e, store.Stored)
	wantHit(t, ours, e)

	must(t, os.Symlink(top, filepath.Join(top, "link")))
	linked := New(Options{Dir: filepath.Join(top, "link", "ours")})
	defer linked.Close()
	wantHit(t, linked, e)

	taken := filepath.Join(top, "taken")
	for _, mode := range []os.FileMode{0o700, 0o755, 0o777} {
		must(t, os.RemoveAll(taken))
		must(t, os.Mkdir(taken, 0o700))
		must(t, os.Chmod(taken, mode))
		giveAway(t, taken)
		for _, dir := range []string{taken, filepath.Join(top, "link", "taken")} {
			s := New(Options{Dir: dir})
			if _, err := s.Put(bg, e); !errors.Is(err, ErrOff) {
				t.Errorf("mode %o: put: %v, want ErrOff", mode, err)
			}
			must(t, s.Close())
		}
		if list, _ := os.ReadDir(taken); len(list) != 0 {
			t.Errorf("mode %o: left in the other's directory: %v", mode, list)
		}
	}
}

// TestAccessControlLists: the rights that a list gives beyond the mode show in
// the group's bits, which are its mask; and rights to be inherited give none,
// since all that we make denies the group.
func TestAccessControlLists(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attribute string
		off       bool
	}{
		"in force":        {"system.posix_acl_access", true},
		"to be inherited": {"system.posix_acl_default", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{Dir: filepath.Join(t.TempDir(), "root")})
			defer s.Close()
			must(t, os.Mkdir(s.o.Dir, 0o700))
			if err := unix.Setxattr(s.o.Dir, test.attribute, accessList(12345), 0); err != nil {
				t.Skip("NOT RUN: no access control lists here:", err)
			}
			e := storetest.New(t, "e", 100)
			if test.off {
				wantMiss(t, s, e.Key, reason.MissTierOff)
				return
			}
			put(t, s, e, store.Stored)
			wantHit(t, s, e)
			must(t, filepath.WalkDir(s.o.Dir, func(path string, d os.DirEntry, err error) error {
				must(t, err)
				if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
				return nil
			}))
		})
	}
}

// accessList is a list that lets a user do everything (struct
// posix_acl_xattr_entry).
func accessList(uid uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, entry := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, ^uint32(0)}, {2, 7, uid}, {4, 0, ^uint32(0)}, {16, 7, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, entry.tag)
		b = binary.LittleEndian.AppendUint16(b, entry.perm)
		b = binary.LittleEndian.AppendUint32(b, entry.id)
	}
	return b
}

// TestUmask: an odd umask neither opens the cache to others nor closes it to
// its owner.
func TestUmask(t *testing.T) {
	t.Parallel()
	for _, umask := range []int{0, 0o077, 0o277, 0o777} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "root")
			must(t, os.Mkdir(dir, 0o700))
			if out, err := child(t, "umask", dir, umask).Output(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				must(t, err)
				info, err := d.Info()
				must(t, err)
				if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
					t.Errorf("%s: mode %04o, want %04o", path, info.Mode().Perm(), want)
				}
				return nil
			}))
		})
	}
}

func roleUmask(s *Store, umask int) error {
	syscall.Umask(umask)
	e := storetest.New(noTest{}, "e", 100)
	if _, err := s.Put(bg, e); err != nil {
		return err
	}
	if err := s.AddStats(oneHit()); err != nil {
		return err
	}
	unlock, err := s.Lock(bg, e.Key, 0)
	if err != nil {
		return err
	}
	unlock()
	_, err = s.Get(bg, e.Key)
	return err
}

// TestUnknownUsers: in a user namespace that does not map its user, a process
// sees the files of all such users as its own. It believes none of them.
func TestUnknownUsers(t *testing.T) {
	t.Parallel()
	w := open(t)
	put(t, w, storetest.New(t, "e", 100), store.Stored)
	must(t, w.Close())
	layer := publicCopy(t, w.o.Dir)
	must(t, filepath.WalkDir(filepath.Dir(layer), func(path string, _ os.DirEntry, err error) error {
		giveAway(t, path)
		return err
	}))
	run := func(clone uintptr) string {
		c := child(t, "layer", layer, os.Geteuid())
		c.Stderr = nil
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: clone}
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Skip("NOT RUN: no user namespaces here:", err)
		}
		return string(out)
	}
	for clone, want := range map[uintptr]string{0: "belong to user 0", syscall.CLONE_NEWUSER: "every user"} {
		if out := run(clone); !strings.Contains(out, "off") || !strings.Contains(out, want) {
			t.Errorf("namespace %#x: %q, want that the tier is off and %q", clone, out, want)
		}
	}
}

func roleLayer(s *Store, _ int) error {
	layer := New(Options{Dir: s.o.Dir, ReadOnly: true})
	defer layer.Close()
	_, err := layer.Get(bg, storetest.New(noTest{}, "e", 100).Key)
	if err == nil {
		fmt.Println("hit")
		return nil
	}
	fmt.Println("off:", layer.Status().Reason)
	return nil
}

// TestDeniedAnywhere: directories and files that the user may not enter, read
// or write, as a file system that maps root to nobody makes them: misses and
// puts that fail, and all is well again afterwards.
func TestDeniedAnywhere(t *testing.T) {
	t.Parallel()
	asUser(t, func(t *testing.T) {
		e := storetest.New(t, "e", 100)
		for _, mode := range []os.FileMode{0, 0o500, 0o400} {
			for _, place := range []string{
				".", rootdir.MetaDir, rootdir.MetaDir + "/" + rootdir.TmpDir, rootdir.MetaDir + "/" + rootdir.LockFile,
				rootdir.MetaDir + "/" + accountFile, "device", "leaf", "bin",
			} {
				s := open(t)
				put(t, s, e, store.Stored)
				must(t, s.Close())
				path := filepath.Join(s.o.Dir, place)
				switch names := s.at.Names(e.Key); place {
				case "device":
					path = filepath.Join(s.o.Dir, rootdir.LeafPrefix(names, 1))
				case "leaf":
					path = filepath.Join(s.o.Dir, names.Path())
				case "bin":
					path = binPath(s, e.Key)
				}
				info, err := os.Stat(path)
				must(t, err)
				must(t, os.Chmod(path, mode))
				denied := New(Options{Dir: s.o.Dir})
				useEverything(t, denied, e)
				_ = denied.Close()
				_ = os.Chmod(path, info.Mode().Perm())
				again := New(Options{Dir: s.o.Dir})
				if _, err := again.Put(bg, e); err != nil {
					t.Errorf("%s, mode %o, and back: put: %v", place, mode, err)
				}
				wantHit(t, again, e)
				must(t, again.Close())
			}
		}
	})
}

// The names of a job.
const (
	spoolDirName = "0123456789abcdef0123456789abcdef"
	spoolName    = "0123456789abcdef0123456789abcdef.capture"
)

// useSpool calls all that a worker and those who leave it work do.
func useSpool(t *testing.T, s *Store) {
	t.Helper()
	made, err := s.SpoolPut(bg, spoolDirName, spoolName, func() ([]byte, error) { return []byte("job"), nil })
	b, f, readErr := s.SpoolRead(bg, spoolDirName, spoolName, 1<<20)
	if err == nil && made && (readErr != nil || string(b) != "job") {
		t.Errorf("a job that was made is %q, %v", b, readErr)
	}
	if readErr == nil {
		_ = s.SpoolRemove(bg, f)
	}
	files, _ := s.SpoolFiles(bg)
	for _, f := range files {
		_ = s.SpoolRemove(bg, f)
	}
	_ = s.PutNote(bg, WorkerNote, []byte("note"))
	_, _, _ = s.ReadNote(WorkerNote)
	s.RemoveNote(WorkerNote)
	if unlock, err := s.LockWorker(bg); err == nil {
		unlock()
	}
	_ = s.HasWorker()
	if dir, err := s.WorkDir(bg); err == nil {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			t.Errorf("the worker's directory: %v, %v", info, err)
		}
	}
}

// entryFile is the name of a file of an entry.
var entryFile = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(bin|src)$`)
