package bundle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/storetest"
)

// foreign makes a cache of another tool, which nobody has written to for an hour.
func foreign(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name, before, before); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// below returns what the files below a directory hold.
func below(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		if !d.IsDir() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(dir, name)
			all[filepath.ToSlash(rel)] = string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHarvest: caches of other tools come out as they went in, for the user alone, where a trusted key has
// signed them.
func TestHarvest(t *testing.T) {
	t.Parallel()
	ours, private := keys(t)
	theirs, _ := keys(t)
	pickled := "\x80\x05\x95\x00." // protocol 5
	inductor := map[string]string{"fxgraph/ab/x": pickled, "c2/c.py": "pass\n", "c2/c.src": "not ours\n", "empty": ""}
	own := map[string]string{"k.so": "\x7fELF"}
	inductors, others := []bundle.Variable{{Name: "TORCHINDUCTOR_CACHE_DIR"}}, []bundle.Variable{{Name: "OWN_CACHE"}, {Name: "OWN", Value: "1"}}
	e := storetest.New(t, "one", 1000)
	o := bundle.Options{Sign: private, WithoutSource: true, Harvest: []bundle.Harvest{
		{Name: "inductor", Tool: "inductor", From: foreign(t, inductor), Variables: inductors},
		{Name: "OWN_CACHE", From: foreign(t, own), Below: "a/b", Variables: others},
	}}
	b, m := create(t, o, filled(t, e))
	want := []bundle.Harvest{
		{Name: "OWN_CACHE", Files: 1, Bytes: 4, Variables: others},
		{Name: "inductor", Tool: "inductor", Files: 4, Bytes: 19, Pickles: true, Variables: inductors},
	}
	got := read(t, b, theirs, ours)
	if d := cmp.Diff(want, got.Harvests); d != "" || len(m.Harvests) != 2 {
		t.Errorf("harvests (-want +got):\n%s", d)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	for _, again := range []bool{false, true} {
		if existing, err := read(t, b, ours).Restore(t.Context(), dir); err != nil || existing != again {
			t.Fatalf("restored: %v, %v", existing, err)
		}
	}
	if d := cmp.Diff(inductor, below(t, filepath.Join(dir, "harvest", "inductor"))); d != "" {
		t.Errorf("Inductor's (-want +got):\n%s", d)
	}
	if d := cmp.Diff(own, below(t, filepath.Join(dir, "harvest", "OWN_CACHE", "a", "b"))); d != "" {
		t.Errorf("another (-want +got):\n%s", d)
	}
	variables := []bundle.Variable{{Name: "OWN_CACHE", Value: filepath.Join(dir, "harvest", "OWN_CACHE")}, {Name: "OWN", Value: "1"}}
	if d := cmp.Diff(variables, got.Harvests[0].Environ(dir)); d != "" {
		t.Errorf("variables (-want +got):\n%s", d)
	}
	layer := disk.New(disk.Options{Dir: dir, ReadOnly: true})
	if _, err := layer.Get(t.Context(), e.Key); err != nil {
		t.Errorf("the entry: %v", err)
	}
	done, err := read(t, b).Import(t.Context(), filled(t, e), nil)
	if err != nil || done.Stored+done.Existing+len(done.Skipped) != 1 {
		t.Errorf("imported: %+v, %v", done, err)
	}
}

// TestRestoreRefuses: nothing of another tool is restored without a trusted signature, nor over anything else.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	ours, private := keys(t)
	h := bundle.Harvest{Name: "x", From: foreign(t, map[string]string{"f": "x"})}
	signed, _ := create(t, bundle.Options{Sign: private, Harvest: []bundle.Harvest{h}})
	other, _ := create(t, bundle.Options{Sign: private, By: "another", Harvest: []bundle.Harvest{h}})
	plain, _ := create(t, bundle.Options{}, filled(t, storetest.New(t, "one", 1000)))
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if _, err := read(t, other, ours).Restore(t.Context(), at("other")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("open"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("other"), at("link")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		r    *bundle.Reader
		dir  string
		want error
	}{
		"nobody is trusted":         {read(t, signed), "a", bundle.ErrUntrusted},
		"no cache of others":        {read(t, plain), "b", nil},
		"another bundle":            {read(t, signed, ours), "other", fs.ErrExist},
		"others may enter":          {read(t, signed, ours), "open", fs.ErrExist},
		"a link":                    {read(t, other, ours), "link", fs.ErrExist},
		"the parent is not there":   {read(t, signed, ours), "c/d", fs.ErrNotExist},
		"it is there, not trusted ": {read(t, other), "other", bundle.ErrUntrusted},
	} {
		if _, err := test.r.Restore(t.Context(), at(test.dir)); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	for _, name := range []string{"a", "c"} {
		if _, err := os.Lstat(at(name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

// TestHarvestNamesWhatItLeaves: links, pipes and locks stay behind.
func TestHarvestNamesWhatItLeaves(t *testing.T) {
	t.Parallel()
	dir := foreign(t, map[string]string{"good": "x", "lock": "", "k/a.lock": "", "k/b:c": ""})
	want := map[string]string{"lock": "a lock", "k/a.lock": "a lock", "k/b:c": "a name that not every system has", "link": "no regular file", "dir": "no regular file"}
	if err := errors.Join(os.Symlink("good", filepath.Join(dir, "link")), os.Symlink("/etc", filepath.Join(dir, "dir"))); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o600), os.Chown(filepath.Join(dir, "theirs"), 12345, -1)); err != nil {
			t.Fatal(err)
		}
		want["theirs"] = "it belongs to user 12345"
	}
	_, skipped, err := bundle.Create(t.Context(), nil, bundle.Options{Harvest: []bundle.Harvest{{Name: "x", From: dir}}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, s := range skipped {
		name, _ := filepath.Rel(dir, s.Location)
		got[filepath.ToSlash(name)] = s.Err.Error()
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
	empty := []bundle.Harvest{{Name: "x", From: t.TempDir()}}
	if _, _, err := bundle.Create(t.Context(), nil, bundle.Options{Harvest: empty}, io.Discard); !errors.Is(err, bundle.ErrEmpty) {
		t.Errorf("of an empty directory: %v", err)
	}
	missing := []bundle.Harvest{{Name: "x", From: filepath.Join(dir, "none")}}
	if _, _, err := bundle.Create(t.Context(), nil, bundle.Options{Harvest: missing}, io.Discard); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no directory: %v", err)
	}
}

// TestHarvestIsWhole: what is being written is waited for, and not taken half written.
func TestHarvestIsWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		writes int // each a tenth of a second behind the last
		err    error
	}{
		"soon done": {10, nil},
		"for ever":  {1000, bundle.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := foreign(t, map[string]string{"old": "x"})
			line := strings.Repeat("y", 1000) + "\n"
			f, err := os.Create(filepath.Join(dir, "new"))
			if err != nil {
				t.Fatal(err)
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for range test.writes {
					_, _ = io.WriteString(f, line)
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
					}
				}
			}()
			var b bytes.Buffer
			_, skipped, err := bundle.Create(t.Context(), nil, bundle.Options{Harvest: []bundle.Harvest{{Name: "x", From: dir}}}, &b)
			close(stop)
			<-stopped
			f.Close()
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) || len(skipped) > 0 {
				t.Fatalf("%v, want %v; skipped %v", err, test.err, skipped)
			}
			if err != nil {
				if !strings.Contains(err.Error(), filepath.Join(dir, "new")) {
					t.Errorf("it names no file: %v", err)
				}
				return
			}
			if got := contents(t, b.Bytes()); got["harvest/x/new"] != strings.Repeat(line, test.writes) || got["harvest/x/old"] != "x" {
				t.Errorf("taken: %d bytes", len(got["harvest/x/new"]))
			}
		})
	}
}

// TestTritonGroups: the groups of a restored cache of Triton name its files where they are now. They hold paths
// (triton/runtime/cache.py, put_group); Triton takes what is not there for not compiled.
func TestTritonGroups(t *testing.T) {
	t.Parallel()
	ours, private := keys(t)
	const hostile = `{"child_paths": {"../../x": "/old/x"}}`
	files := map[string]string{
		"0/KEY/__grp__k.json": `{"child_paths": {"k.cubin": "/home/ada/.triton/cache/0/KEY/k.cubin", "k.json": "/home/ada/.triton/cache/0/KEY/k.json"}}`,
		"0/KEY/k.cubin":       "machine code", "0/KEY/k.json": "{}",
		"H/__grp__x.json": hostile, "N/__grp__x.json": "[]",
	}
	b, _ := create(t, bundle.Options{Sign: private, Harvest: []bundle.Harvest{{Name: "triton", From: foreign(t, files)}}})
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := read(t, b, ours).Restore(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "harvest", "triton")
	got := below(t, at)
	if got["H/__grp__x.json"] != hostile || got["N/__grp__x.json"] != "[]" {
		t.Errorf("what is no group was changed: %v", got)
	}
	var group struct {
		Paths map[string]string `json:"child_paths"`
	}
	if err := json.Unmarshal([]byte(got["0/KEY/__grp__k.json"]), &group); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"k.cubin": filepath.Join(at, "0", "KEY", "k.cubin"), "k.json": filepath.Join(at, "0", "KEY", "k.json")}
	if d := cmp.Diff(want, group.Paths); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, name := range group.Paths {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
