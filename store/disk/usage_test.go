//go:build linux

package disk

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestAccountIsWhatDuShows: where a block is 4 KiB and a directory takes one, as
// on ext4, the account and du say the same of what is below the devices.
func TestAccountIsWhatDuShows(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, size := range []int{1, 100, 4000, 4096, 5000, 100_000} {
		put(t, s, storetest.New(t, fmt.Sprint(i), size), store.Stored)
		img := storetest.Entry(storetest.Recipe(t, "kernel void k() {}", fmt.Sprintf("-DN=%d", i)), "same", size)
		put(t, s, img, store.Stored)
	}
	var fsinfo syscall.Statfs_t
	must(t, syscall.Statfs(s.o.Dir, &fsinfo))
	const ext4 = 0xef53
	var du int64
	must(t, filepath.WalkDir(s.o.Dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.o.Dir, path)
		if err != nil || d.Name() == rootdir.MetaDir {
			return fs.SkipDir
		}
		var st syscall.Stat_t
		must(t, syscall.Lstat(path, &st))
		if filepath.Dir(rel) != "." {
			if takes := st.Blocks * 512; fsinfo.Type == ext4 {
				du += takes
			} else if d.IsDir() {
				du += block
			} else {
				du += rootdir.Blocks(st.Size)
			}
		}
		return nil
	}))
	if st := s.Status(); st.Bytes != du || st.Entries != 12 {
		t.Errorf("the account says %d bytes of %d entries, du %d", st.Bytes, st.Entries, du)
	}
}
