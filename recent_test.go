package kernstash

import (
	"bytes"
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	k := func(n byte) key.Key { return key.Key{Sum: key.Digest{n}} }
	artifact := func(size int, form store.Form, variants ...string) *store.Artifact {
		return &store.Artifact{Variants: variants, Binaries: []store.Binary{{Form: form, Data: bytes.Repeat([]byte{1}, size)}}}
	}
	var r recent
	first := artifact(recentBytes/2, store.FormFinal)
	r.put(k(1), first)
	r.put(k(1), first) // by another thread
	if r.bytes != recentBytes/2 || r.take(k(1), false) != first || r.take(k(1), false) != nil || r.bytes != 0 {
		t.Errorf("one: %d bytes, %d kept; it is taken once", r.bytes, len(r.all))
	}
	r.put(k(1), first)
	r.put(k(2), artifact(recentBytes/2, store.FormFinal))
	r.put(k(3), artifact(recentLeast, store.FormFinal))
	if r.take(k(1), false) != nil || r.take(k(2), false) == nil || r.take(k(3), false) == nil || r.bytes != 0 || len(r.order) != 0 {
		t.Errorf("the oldest goes: %d bytes, %d kept", r.bytes, len(r.order))
	}
	r.put(k(4), artifact(recentLeast, store.FormIntermediate))
	r.put(k(5), artifact(recentLeast, store.FormFinal, "k/64"))
	r.put(k(6), artifact(recentBytes+1, store.FormFinal))
	r.put(k(7), artifact(recentLeast-1, store.FormFinal))
	if len(r.all) != 0 {
		t.Errorf("%d kept that may be better on disk, or are not of the size", len(r.all))
	}
	r.put(k(1), first)
	r.clear()
	if r.take(k(1), false) != nil || r.bytes != 0 {
		t.Error("not cleared")
	}
}
