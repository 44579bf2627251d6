package worker

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// A worker that waits for more jobs removes what nobody has used for too long, once a
// day; one that is to do what there is does not.
func TestAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	dir := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(dir, 0o700))
	s := disk.New(disk.Options{Dir: dir})
	put := func(source string, age time.Duration) (path string) {
		t.Helper()
		img, err := key.NewImage(key.OpenCLC, []byte(source))
		must(t, err)
		r := &key.Recipe{Device: key.Device{API: "opencl", Platform: "P", Name: "D"}, Image: img}
		before := entries(t, dir)
		_, err = s.Put(t.Context(), &store.Entry{Key: r.Key(), Recipe: r, Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte(source)}}, Created: time.Now(),
		}})
		must(t, err)
		for p := range entries(t, dir) {
			if !before[p] {
				used := time.Now().Add(-age)
				must(t, os.Chtimes(p, used, used))
				return p
			}
		}
		t.Fatal("nothing was stored")
		return ""
	}
	work := func(once bool, maxAge time.Duration) Status {
		t.Helper()
		st, err := Run(t.Context(), Options{
			Store: s, Command: []string{"/nonexistent"}, Once: once, Idle: time.Millisecond, MaxAge: maxAge,
		})
		must(t, err)
		return st
	}
	old, young := put("old", 31*day), put("young", 29*day)
	there := func(p string) bool { return entries(t, dir)[p] }
	if work(true, 30*day); !there(old) {
		t.Error("by a worker that was to do what there is")
	}
	if work(false, 0); !there(old) {
		t.Error("entries are to be kept however old they are")
	}
	st := work(false, 30*day)
	if there(old) || !there(young) || time.Since(st.Aged) > time.Minute {
		t.Errorf("old %v, young %v, at %v", there(old), there(young), st.Aged)
	}
	again := put("another old one", 31*day)
	if next := work(false, 30*day); !there(again) || !next.Aged.Equal(st.Aged) {
		t.Errorf("twice in a day: %v, %v", there(again), next.Aged)
	}
	now, err := Ask(t.Context(), s)
	must(t, err)
	if !now.Aged.Equal(st.Aged) {
		t.Errorf("it is said to have been at %v", now.Aged)
	}
}

// entries are the files of the artifacts below a root.
func entries(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".bin") {
			all[path] = true
		}
		return err
	}))
	return all
}
