//go:build linux

package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

func init() { roles["version"] = roleVersion }

// versionVar names the version that a process is of, what it does, and its
// limit.
const versionVar = "KERNSTASH_TEST_VERSION"

type versionTask struct {
	Name  string // of the version: it makes code of its own
	Do    string // write, look, gc or clear
	Limit int64
}

const versionKeys = 60

// versionEntry is what a version makes for a key: the keys are the same.
func versionEntry(t testing.TB, name string, i int) *store.Entry {
	e := storetest.New(t, fmt.Sprint("key", i), 900)
	e.Artifact.Binaries[0].Data = storetest.Code(name, 900)
	return e
}

// roleVersion works on a root as a process of a version, and says how many keys
// hit.
func roleVersion(s *Store, arg int) error {
	var task versionTask
	if err := json.Unmarshal([]byte(os.Getenv(versionVar)), &task); err != nil {
		return err
	}
	o := s.o
	o.MaxSize = task.Limit
	s = New(o)
	hits := 0
	get := func(i int) error {
		e := versionEntry(noTest{}, task.Name, i)
		got, err := s.Get(bg, e.Key)
		var m *store.MissError
		switch {
		case err == nil && string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data):
			return fmt.Errorf("version %s: a wrong binary", task.Name)
		case err == nil:
			hits++
		case !errors.As(err, &m) || m.Reason != reason.MissAbsent && m.Reason != reason.MissVersion:
			return fmt.Errorf("version %s: %w", task.Name, err)
		}
		return nil
	}
	switch task.Do {
	case "write":
		for i := range versionKeys {
			i = (i + arg*17) % versionKeys
			if _, err := s.Put(bg, versionEntry(noTest{}, task.Name, i)); err != nil && !errors.Is(err, store.ErrDropped) {
				return err
			}
			if err := errors.Join(get(i), s.AddStats(oneHit())); err != nil && !strings.Contains(err.Error(), "version") {
				return err
			}
			if i%20 == 0 && task.Limit == 0 { // gc's limit is for all versions
				if _, err := s.GC(bg, GCOptions{MaxAge: time.Hour}, nil); err != nil {
					return err
				}
				if _, err := s.Verify(bg, true, nil); err != nil {
					return err
				}
			}
		}
		hits = 0
	case "gc":
		if _, err := s.GC(bg, GCOptions{MaxAge: time.Nanosecond}, nil); err != nil {
			return err
		}
	case "clear":
		if _, err := s.Clear(bg, nil, nil); err != nil {
			return err
		}
	}
	for i := range versionKeys {
		if err := get(i); err != nil {
			return err
		}
	}
	r, err := s.Verify(bg, false, nil)
	if err == nil && (r.Damaged > 0 || len(r.Problems) > 0) {
		err = fmt.Errorf("version %s: verify: %v", task.Name, r.Problems)
	}
	fmt.Println(hits, r.OtherVersions)
	return errors.Join(err, s.Close())
}

// otherBinary builds this test binary as another version of kernstash: the
// compiler is shown other sources for the numbers of the formats.
func otherBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replace := make(map[string]string)
	for file, change := range map[string][2]string{
		"../../internal/format/doc.go":   {fmt.Sprintf("const Version = %d\n", format.Version), "const Version = 77\n"},
		"../../internal/tally/header.go": {"version     = 1\n", "version     = 77\n"},
	} {
		path, err := filepath.Abs(file)
		must(t, err)
		text, err := os.ReadFile(path)
		must(t, err)
		if strings.Count(string(text), change[0]) != 1 {
			t.Fatalf("%s has no line %q", file, change[0])
		}
		replace[path] = filepath.Join(dir, filepath.Base(path))
		must(t, os.WriteFile(replace[path], []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	list := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(list, overlay, 0o600))
	binary := filepath.Join(dir, "other.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// TestTwoVersionsShareARoot: processes of two versions put, get, evict, verify
// and collect on one root at once, for the same keys. Neither hits, replaces,
// removes or damages what is the other's; only gc by age and clear do.
func TestTwoVersionsShareARoot(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	binaries := map[string]string{"ours": os.Args[0], "other": otherBinary(t)}
	s := open(t)
	run := func(task versionTask, arg int) (hits, others int) {
		setting, err := json.Marshal(task)
		must(t, err)
		c := child(t, "version", s.o.Dir, arg)
		c.Path = binaries[task.Name]
		c.Env = append(c.Env, versionVar+"="+string(setting))
		out, err := c.Output()
		if err != nil {
			t.Errorf("%+v: %v", task, err)
			return 0, 0
		}
		_, err = fmt.Sscan(string(out), &hits, &others)
		must(t, err)
		return hits, others
	}
	want := func(name string, hits, others int) {
		t.Helper()
		if h, o := run(versionTask{Name: name, Do: "look"}, 0); h != hits || o != others {
			t.Errorf("%s: %d of its keys hit, %d entries are another's; want %d and %d", name, h, o, hits, others)
		}
	}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() { run(versionTask{Name: []string{"ours", "other"}[i%2], Do: "write"}, i) })
	}
	all.Wait()
	want("ours", versionKeys, versionKeys)
	want("other", versionKeys, versionKeys)

	// Under a limit each makes room with what is its own.
	for _, name := range []string{"ours", "other"} {
		for i := range 3 {
			all.Go(func() { run(versionTask{Name: name, Do: "write", Limit: 20 * each}, i) })
		}
		all.Wait()
		if name == "ours" {
			want("other", versionKeys, func() int { h, _ := run(versionTask{Name: "ours", Do: "look"}, 0); return h }())
		}
	}
	if h, o := run(versionTask{Name: "ours", Do: "look"}, 0); h == 0 || o == 0 {
		t.Errorf("%d entries of ours, %d of the other are left", h, o)
	}
	run(versionTask{Name: "ours", Do: "gc"}, 0)
	want("other", 0, 0)
	run(versionTask{Name: "other", Do: "write"}, 0)
	want("other", versionKeys, 0)
	run(versionTask{Name: "ours", Do: "clear"}, 0)
	want("other", 0, 0)
	if tree := storetest.Look(t, s.o.Dir); tree.Entries > 0 || len(tree.Strange) > 0 {
		t.Errorf("left: %+v", tree)
	}
}
