package keep

import (
	"context"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Entry is one to be stored. Without an artifact, which another process makes, its miss
// is explained and its header files are kept.
type Entry struct {
	Entry   *store.Entry
	Nearest *Search               // of the nearest entry, which is told and counted; nil: none
	Unlock  func()                // ends the build lock; nil: it is not held
	Headers map[key.Digest][]byte // contents of header files, as far as they are at hand
	Kept    map[key.Digest]bool   // those that were written before
	Tell    func(nearest string)  // is called once: with what the nearest entry differs in, or ""
}

func (t *Entry) size() int64 {
	var n int64
	if t.Entry.Artifact != nil {
		n = t.Entry.Artifact.Size()
	}
	return n + sizeOf(t.Headers)
}

func (t *Entry) drop(k *Keeper) bool {
	if t.Entry.Artifact != nil {
		k.count(stats.DiskPutsDropped)
	}
	t.Tell("")
	t.free()
	return t.Entry.Artifact != nil
}

func (t *Entry) free() {
	if t.Unlock != nil {
		t.Unlock()
		t.Unlock = nil
	}
}

func (t *Entry) do(ctx context.Context, k *Keeper) {
	defer t.free()
	if t.Nearest != nil {
		t.Tell(k.explain(t.Entry.Key, t.Nearest.found))
	}
	t.Entry.Headers = k.HeaderContents(t.Entry.Recipe, t.Headers, t.Kept)
	if t.Entry.Artifact == nil {
		k.putHeaders(ctx, t.Entry.Headers)
		return
	}
	name := t.Entry.Key.Short()
	result, err := k.put(ctx, t.Entry)
	if err != nil {
		k.o.Log.Warn("not stored", "key", name, "error", err.Error())
		return
	}
	t.free() // those who wait for the entry do not need what follows
	k.stored(t.Entry, result)
	contents.Save()
	k.o.Log.Debug("put", "key", name, "result", result, "bytes", t.Entry.Artifact.Size(), "cost", t.Entry.Artifact.Cost)
}

// nearest returns what keeps a recipe from the nearest entry; nil: it cannot be told.
func (k *Keeper) nearest(ctx context.Context, r *key.Recipe, previous key.Digest) *store.Difference {
	explainer, ok := k.o.Store.(store.Explainer)
	if !ok {
		return nil
	}
	d, err := explainer.Nearest(ctx, r, previous)
	if err != nil {
		return nil // no reason is better than a wrong one
	}
	return &d
}

// explain counts which component of the key made the miss, and returns it for people; ""
// where that cannot be told.
func (k *Keeper) explain(name key.Key, d *store.Difference) string {
	if d == nil {
		return ""
	}
	k.count(stats.Of(d.Reason))
	k.o.Log.Info("miss explained", "key", name.Short(), "nearest", d.Key.Short(), "why", d.Text)
	return d.Text
}

// Put stores an entry; in mode refresh in the place of any that is there.
func (k *Keeper) Put(ctx context.Context, entry *store.Entry) (store.PutResult, error) {
	result, err := k.put(ctx, entry)
	k.stored(entry, result)
	return result, err
}

func (k *Keeper) stored(entry *store.Entry, result store.PutResult) {
	if k.o.Stored != nil && (result == store.Stored || result == store.Bettered) {
		k.o.Stored(entry)
	}
}

func (k *Keeper) put(ctx context.Context, entry *store.Entry) (store.PutResult, error) {
	if k.o.Refresh {
		if err := k.o.Store.Delete(ctx, entry.Key); err != nil {
			return store.Failed, err
		}
	}
	return k.o.Store.Put(ctx, entry)
}

// putHeaders keeps contents of header files.
func (k *Keeper) putHeaders(ctx context.Context, all map[key.Digest][]byte) {
	if k.o.Blobs == nil {
		return
	}
	for d, content := range all {
		if err := k.o.Blobs.PutBlob(ctx, store.Headers, d, content); err != nil {
			k.o.Log.Warn("header not kept", "digest", d.Dir(), "reason", err.Error())
		}
	}
}

// Search is a search for the nearest entry. It is over before an Entry is stored that was
// added later.
type Search struct{ found *store.Difference } // nil: it could not be told

func sizeOf(contents map[key.Digest][]byte) int64 {
	var n int64
	for _, content := range contents {
		n += int64(len(content))
	}
	return n
}

// Explain counts what keeps a recipe from the nearest entry, and returns it for people; "" where that cannot be told.
func (k *Keeper) Explain(ctx context.Context, name key.Key, r *key.Recipe) string {
	return k.explain(name, k.nearest(ctx, r, key.Digest{}))
}

// HeaderContents returns the contents of the header files of a recipe that the store
// does not have, from those at hand or from the files themselves, if they are still the
// same. Those that are kept are written already.
func (k *Keeper) HeaderContents(r *key.Recipe, atHand map[key.Digest][]byte, kept map[key.Digest]bool) map[key.Digest][]byte {
	if !r.Image.ReadsFiles() || k.o.Blobs == nil {
		return nil
	}
	all := make(map[key.Digest][]byte)
	for _, u := range r.Image.Units() {
		for _, f := range u.Files {
			if content, ok := atHand[f.Digest]; ok {
				all[f.Digest] = content
				continue
			}
			if _, ok := all[f.Digest]; ok || kept[f.Digest] || k.o.Blobs.HasBlob(store.Headers, f.Digest, f.Size) {
				continue
			}
			content, err := deps.Read(f)
			if err != nil {
				k.o.Log.Debug("header not kept", "path", f.Path, "reason", err.Error())
				continue
			}
			all[f.Digest] = content
		}
	}
	return all
}

func (k *Keeper) count(c stats.Counter) { k.o.Recorder.Add(c, 1) }
