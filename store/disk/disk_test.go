package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// open returns a store below a directory of the test's own.
func open(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Dir: filepath.Join(t.TempDir(), "root")}
	for _, c := range change {
		c(&o)
	}
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// collide makes every key have the same directories.
func collide(key.Key) [4]string {
	const d = "00112233445566778899aabbccddeeff"
	return [4]string{d, d, d, d}
}

func TestStoreContract(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"default":   func(*Options) {},
		"limit":     func(o *Options) { o.MaxSize, o.Policy = 1<<30, Cost },
		"slow ways": func(o *Options) { o.hooks.Beneath = safefs.Options{NoOpenat2: true, NoTmpfile: true} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, change) })
		})
	}
	t.Run("all collide", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) store.Store {
			s := open(t, func(o *Options) { o.hooks.Collide = collide })
			// An Explainer looks into other directories, of which there are none.
			return struct {
				store.Store
				store.Blobs
				store.Locker
			}{s, s, s}
		})
	})
}

// TestRemovingMakesNothing: who removes what is not there makes no cache of a directory.
func TestRemovingMakesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	must(t, os.Mkdir(s.o.Dir, 0o700))
	must(t, s.Delete(bg, storetest.New(t, "absent", 100).Key))
	s.RemoveNote(StopNote)
	digits := strings.Repeat("0", 32)
	must(t, s.SpoolRemove(bg, spool.File{Dir: digits, Name: digits + ".capture"}))
	list, err := os.ReadDir(s.o.Dir)
	must(t, err)
	for _, f := range list {
		t.Errorf("%s was made", f.Name())
	}
}
