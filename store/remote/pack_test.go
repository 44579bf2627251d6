package remote

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// FuzzApp: a list that is read is written as the same bytes, and of another application there is none.
func FuzzApp(f *testing.F) {
	k := storetest.New(f, "one", 1).Key
	f.Add(encodeApp("app", &store.App{Keys: []key.Key{k, k}, Manifests: []key.Digest{{1}}}))
	f.Add(encodeApp("app", &store.App{}))
	f.Add(encodeApp("another", &store.App{}))
	f.Add(binary.LittleEndian.AppendUint32(encodeApp("app", &store.App{})[:7], 1<<31))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseApp(b, "app")
		if err != nil {
			return
		}
		if !bytes.Equal(encodeApp("app", list), b) {
			t.Error("another encoding of the same list was accepted")
		}
		if _, err := parseApp(b, "another"); err == nil {
			t.Error("the list of another application")
		}
	})
}

// FuzzPack: whatever a pack holds, what lies in it lies in its bytes, and what is served is signed.
func FuzzPack(f *testing.F) {
	e := storetest.New(f, "one", 40)
	signed, plain := object1(f, writer("ours", keyOf(1)), e), object1(f, writer("ours", nil), e)
	for _, o := range [][]byte{signed, plain, nil, []byte(magic)} {
		f.Add(append(append(binary.LittleEndian.AppendUint32(newPack(), uint32(len(o))), o...), 0, 0, 0, 0))
	}
	f.Add([]byte(packMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		for o := range unpackObjects(b) {
			total += 4 + len(o)
			got, _, err := reader(nil).open(o, e.Key, true)
			if err == nil && !bytes.Equal(o, signed) {
				t.Error("what nobody signed is served")
			}
			if err == nil && got.Recipe.Key() != e.Key {
				t.Error("an entry of another key")
			}
		}
		if total > max(len(b)-packHead, 0) {
			t.Errorf("%d bytes of a pack of %d", total, len(b))
		}
	})
}
