package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// space compares what the account says of some of its slots with what is there.
// The slots are read as docs/FORMAT.md says.
func space(t *table, root, _, _ string, n int) error {
	const slots = 4
	account, err := os.ReadFile(filepath.Join(root, ".meta", "account"))
	if err != nil {
		return err
	}
	var says, entries int64
	var there walked
	for slot := range slots {
		at := 64 + 32*slot
		says += int64(binary.LittleEndian.Uint64(account[at:]))
		entries += int64(binary.LittleEndian.Uint64(account[at+8:]))
		if err := there.images(root, fmt.Sprintf("%02x", slot)); err != nil {
			return err
		}
	}
	each := func(total int64) float64 { return float64(total) / float64(entries) }
	bar := ""
	if there.blocks >= 4000*there.inodes { // else directories take nothing here
		bar = "the same"
	}
	t.line("an entry's blocks", fmt.Sprintf("%.0f bytes", each(there.blocks)), "", true)
	t.line("the same, by the account", fmt.Sprintf("%.0f bytes", each(says)), bar, says == there.blocks)
	t.line("an entry's files, their length", fmt.Sprintf("%.0f bytes", each(there.length)), "", true)
	t.line("an entry's inodes", fmt.Sprintf("%.2f", each(there.inodes)), "", true)
	return nil
}

// walked is what some directories hold.
type walked struct{ blocks, length, inodes int64 }

// images walks the images whose names begin in a way.
func (w *walked) images(root, prefix string) error {
	found, err := filepath.Glob(filepath.Join(root, strings.Repeat("?", 32), prefix+"*"))
	if err != nil {
		return err
	}
	for _, image := range found {
		err := filepath.WalkDir(image, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st syscall.Stat_t
			if err := syscall.Lstat(path, &st); err != nil {
				return err
			}
			w.inodes++
			w.blocks += st.Blocks * 512
			if st.Mode&syscall.S_IFMT == syscall.S_IFREG {
				w.length += st.Size
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
