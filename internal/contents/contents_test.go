//go:build linux

package contents

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

type tableInMemory struct{ b []byte }

func (m *tableInMemory) ReadDigests() ([]byte, error) {
	if m.b == nil {
		return nil, fs.ErrNotExist
	}
	return m.b, nil
}

func (m *tableInMemory) WriteDigests(b []byte) error { m.b = b; return nil }

// anotherProcess returns what a process that has read nothing would say.
func anotherProcess(t *testing.T, s Shared) {
	t.Helper()
	known = table{}
	Share(s, true)
	t.Cleanup(func() { known = table{} })
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sum(content string) string {
	d := sha256.Sum256([]byte(content))
	return hex.EncodeToString(d[:16])
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	at, err := Look(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Stamped(path, at)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A digest that another process found is used while the file's stamp stays, and that of a
// file which was changed just now is kept nowhere.
func TestDigestsAreRemembered(t *testing.T) {
	dir := t.TempDir()
	young := filepath.Join(dir, "young")
	write(t, young, "young")
	old, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	st, err := Look(old)
	if err != nil {
		t.Fatal(err)
	}
	if !isBelieved(old, st) || !st.settled(time.Now()) {
		t.Skip("the file system's stamps are not believed")
	}
	var shared tableInMemory
	anotherProcess(t, &shared)
	content, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(t, old); got != sum(string(content)) {
		t.Errorf("digest %q", got)
	}
	digestOf(t, young)
	Save()
	keys := func() (paths []string) {
		files, _ := checked(shared.b).parse()
		for k := range files {
			paths = append(paths, k.path)
		}
		return paths
	}
	if k := keys(); len(k) != 1 || k[0] != old {
		t.Errorf("the table holds %q", k)
	}

	// That the table is used shows where it tells something else.
	lie := table{digests: map[place]digest{{old, st}: {text: sum("lie"), share: true}, {"/gone", st}: {text: sum(""), share: true}}}
	shared.b = lie.text()
	anotherProcess(t, &shared)
	if got := digestOf(t, old); got != sum("lie") {
		t.Errorf("the table was not used: %q", got)
	}
	// Another size, another time: another file.
	for name, change := range map[string]func(*Stamp){
		"size": func(s *Stamp) { s.Size++ }, "ctime": func(s *Stamp) { s.Ctime-- }, "mtime": func(s *Stamp) { s.Mtime-- },
		"inode": func(s *Stamp) { s.Inode++ }, "device": func(s *Stamp) { s.Device++ },
	} {
		s := st
		change(&s)
		lie := table{digests: map[place]digest{{old, s}: {text: sum("lie"), share: true}}}
		shared.b = lie.text()
		anotherProcess(t, &shared)
		if got := digestOf(t, old); got != sum(string(content)) {
			t.Errorf("%s differs: %q", name, got)
		}
	}
	// A damaged table is none.
	shared.b = lie.text()
	shared.b[3] ^= 1
	anotherProcess(t, &shared)
	if got := digestOf(t, old); got != sum(string(content)) {
		t.Errorf("the table was damaged: %q", got)
	}
}

// What was derived from a content is used by other processes, that of a file which was changed just now
// by none, and what has lines is not kept.
func TestDerivationsAreRemembered(t *testing.T) {
	old := Stamp{Mtime: 1, Ctime: 1}
	var shared tableInMemory
	for _, c := range []struct {
		name, kind, digest string
		stamp              Stamp
		text               string
		kept               bool
	}{
		{"old", "elf", "d1", old, "one\ttwo three", true},
		{"nothing", "elf", "d2", old, "", true},
		{"another kind", "lines", "d1", old, "7", true},
		{"young", "elf", "d3", Stamp{Mtime: time.Now().UnixNano(), Ctime: time.Now().UnixNano()}, "young", false},
		{"lines", "elf", "d4", old, "one\ntwo", false},
	} {
		for _, again := range []bool{false, true} {
			anotherProcess(t, &shared)
			asked := false
			text, err := Derived(c.kind, c.digest, c.stamp, func() (string, error) {
				asked = true
				return c.text, nil
			})
			if err != nil || text != c.text || asked != (!again || !c.kept) {
				t.Errorf("%s, again: %v: %q, %v, asked: %v", c.name, again, text, err, asked)
			}
			Save()
		}
	}
	wrong := errors.New("wrong")
	if _, err := Derived("elf", "d5", old, func() (string, error) { return "", wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
	if text, err := Derived("elf", "d5", old, func() (string, error) { return "right", nil }); err != nil || text != "right" {
		t.Errorf("after an error: %q, %v", text, err)
	}
	// A file's line keeps its place beside these, and what is damaged is none.
	known.digests = map[place]digest{{"/f", old}: {text: sum(""), share: true}}
	unsaved.Store(true)
	Save()
	if files, derived := checked(shared.b).parse(); len(files) != 1 || len(derived) != 4 {
		t.Errorf("the table holds %v and %v", files, derived)
	}
	// A process that derives nothing keeps what others have.
	anotherProcess(t, &shared)
	known.digests = map[place]digest{{"/g", old}: {text: sum("g"), share: true}}
	unsaved.Store(true)
	Save()
	if files, derived := checked(shared.b).parse(); len(files) != 2 || len(derived) != 4 {
		t.Errorf("after another process the table holds %v and %v", files, derived)
	}
	// What this process has derived is in the table also where others fill it.
	full := table{derived: make(map[string]string)}
	for n := range maxLines {
		full.derived[fmt.Sprintf("elf a%d", n)] = "x"
	}
	shared.b = full.text()
	anotherProcess(t, &shared)
	if _, err := Derived("elf", "z", old, func() (string, error) { return "mine", nil }); err != nil {
		t.Error(err)
	}
	Save()
	if _, derived := checked(shared.b).parse(); len(derived) != maxLines || derived["elf z"] != "mine" {
		t.Errorf("%d derivations, this process's %q", len(derived), derived["elf z"])
	}
	shared.b[3] ^= 1
	if files, derived := checked(shared.b).parse(); len(files)+len(derived) != 0 {
		t.Errorf("of a damaged table: %v, %v", files, derived)
	}
}

// A file that is changed is read again, in the process that has read it.
func TestAChangeIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"one", "two", "one"} {
		write(t, path, content)
		if got := digestOf(t, path); got != sum(content) {
			t.Errorf("%q: %q", content, got)
		}
	}
	if _, err := Look(filepath.Dir(path)); !errors.Is(err, errRegular) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Look(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// onWrite is a table in memory that calls a function when it is written.
type onWrite struct {
	tableInMemory
	call func()
}

func (w *onWrite) WriteDigests(b []byte) error {
	w.call()
	return w.tableInMemory.WriteDigests(b)
}

// Nobody waits for a slow disk to hear what the process knows.
func TestAnswersWhileTheTableIsWritten(t *testing.T) {
	file := place{"/a file", Stamp{Device: 1, Inode: 2, Size: 3, Mtime: 4, Ctime: 5}}
	answered := make(chan string, 1)
	shared := onWrite{call: func() {
		go func() {
			d, err := Stamped(file.path, file.Stamp)
			if err != nil {
				t.Error(err)
			}
			answered <- d
		}()
		select {
		case d := <-answered:
			answered <- d
		case <-time.After(30 * time.Second):
			t.Error("no answer while the table is written")
		}
	}}
	anotherProcess(t, &shared)
	known.put(file, digest{text: sum("it"), share: true})
	Save()
	if d := <-answered; d != sum("it") {
		t.Errorf("digest %q", d)
	}
}

// Nodes that share a table, and have files of their own at one path, keep each other's.
func TestDigestsOfSeveralNodes(t *testing.T) {
	var shared tableInMemory
	state := func(node int) place {
		return place{"/usr/lib/libcompiler.so", Stamp{Device: 1, Inode: uint64(node), Size: 3, Mtime: 4, Ctime: 5}}
	}
	image := place{"/image/libcompiler.so", Stamp{Device: 1, Inode: 2, Size: 3, Mtime: 4, Ctime: 5}}
	mounts := []string{oneBoot + "/1", anotherBoot + "/1"}
	start := func(node int) (read int) {
		anotherProcess(t, &shared)
		for _, of := range []onMount{{state(node), ""}, {image, mounts[node%2]}} {
			if _, ok := known.shared(of.place, of.mount); !ok {
				known.put(of.place, digest{text: sum(of.path), mount: of.mount, share: true})
				read++
			}
		}
		Save()
		return read
	}
	for i, want := range []int{2, 2, 0, 0, 0} {
		if read := start(i % 2); read != want {
			t.Errorf("start %d, on node %d, reads %d files, want %d", i, i%2, read, want)
		}
	}
	// No more than 8 of one path, the last one's among them.
	for node := range 20 {
		start(node)
	}
	of := 0
	files, _ := checked(shared.b).parse()
	for k := range files {
		if k.path == state(0).path {
			of++
		}
	}
	if read := start(19); of != 8 || read != 0 {
		t.Errorf("%d states of one path are kept, want 8; the last node reads %d files again", of, read)
	}
}
