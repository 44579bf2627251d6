//go:build linux

package disk

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestDocumentDescribesAccount reads an account by the table of docs/FORMAT.md.
func TestDocumentDescribesAccount(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := open(t, func(o *Options) { o.Now = c.now })
	e := storetest.New(t, "e", 5000)
	put(t, s, e, store.Stored)
	settled(s)
	bin, err := os.Stat(binPath(s, e.Key))
	must(t, err)
	src, err := os.Stat(srcPath(s, e.Key))
	must(t, err)
	image, err := strconv.ParseUint(filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(binPath(s, e.Key)))))[:2], 16, 8)
	must(t, err)
	takes := 3*4096 + (bin.Size()+4095)/4096*4096 + (src.Size()+4095)/4096*4096

	b, err := os.ReadFile(filepath.Join(s.o.Dir, ".meta", "account"))
	must(t, err)
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	if string(b[:8]) != "ksttally" || u32(16) != 257 || u32(20) != 4 || binary.LittleEndian.Uint64(b[24:]) != 0 {
		t.Fatalf("header % x", b[:64])
	}
	for slot := range 257 {
		var got [4]int64
		for i := range got {
			got[i] = int64(binary.LittleEndian.Uint64(b[64+8*(4*slot+i):]))
		}
		want := [4]int64{0, 0, 0, c.now().Unix()}
		if slot == int(image) {
			want = [4]int64{takes, 1, takes, c.now().Unix()}
		}
		if got != want {
			t.Errorf("slot %d: %d, want %d", slot, got, want)
		}
	}
}
