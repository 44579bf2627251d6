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
	Entry    *store.Entry
	Explain  bool                  // say what the nearest entry is, before this one is there
	Unlock   func()                // ends the build lock; nil: it is not held
	Headers  map[key.Digest][]byte // contents of header files, as far as they are at hand
	Kept     map[key.Digest]bool   // those that were written before
	Previous key.Digest            // see Keeper.Prepare
	Tell     func(nearest string)  // is called once: with what the nearest entry differs in, or ""; may be nil
	Prepared *Preparation          // may be nil
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
	t.tell("")
	t.free()
	return t.Entry.Artifact != nil
}

func (t *Entry) tell(nearest string) {
	if t.Tell != nil {
		t.Tell(nearest)
	}
}

func (t *Entry) free() {
	if t.Unlock != nil {
		t.Unlock()
		t.Unlock = nil
	}
}

func (t *Entry) do(ctx context.Context, k *Keeper) {
	defer t.free()
	if t.Explain {
		t.tell(k.explain(t.Entry.Key, t.difference(ctx, k)))
	}
	t.Entry.Headers = k.HeaderContents(t.Entry.Recipe, t.Headers, t.Kept)
	if t.Entry.Artifact == nil {
		t.Prepared.undo(ctx)
		k.putHeaders(ctx, t.Entry.Headers)
		return
	}
	name := t.Entry.Key.Short()
	result, err := k.Put(ctx, t.Entry)
	if err != nil {
		t.Prepared.undo(ctx)
		k.log.Warn("not stored", "key", name, "error", err.Error())
		return
	}
	t.free() // nobody who waits for the entry needs what follows
	contents.Save()
	k.log.Debug("put", "key", name, "result", result, "bytes", t.Entry.Artifact.Size(), "cost", t.Entry.Artifact.Cost)
}

// difference is what was found while the compiler was busy, or is found now; nil where
// that cannot be told.
func (t *Entry) difference(ctx context.Context, k *Keeper) *store.Difference {
	if t.Prepared != nil && t.Prepared.nearest != nil {
		return t.Prepared.nearest
	}
	return k.nearest(ctx, t.Entry.Recipe, t.Previous)
}

// nearest returns what keeps a recipe from the nearest entry; nil where that cannot be
// told.
func (k *Keeper) nearest(ctx context.Context, r *key.Recipe, previous key.Digest) *store.Difference {
	explainer, ok := k.store.(store.Explainer)
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
	k.log.Info("miss explained", "key", name.Short(), "nearest", d.Key.Short(), "why", d.Text)
	return d.Text
}

// Put stores an entry; in mode refresh in the place of any that is there.
func (k *Keeper) Put(ctx context.Context, entry *store.Entry) (store.PutResult, error) {
	if k.refresh {
		if err := k.store.Delete(ctx, entry.Key); err != nil {
			return store.Failed, err
		}
	}
	return k.store.Put(ctx, entry)
}

// putHeaders keeps contents of header files.
func (k *Keeper) putHeaders(ctx context.Context, all map[key.Digest][]byte) {
	if k.blobs == nil {
		return
	}
	for d, content := range all {
		if err := k.blobs.PutBlob(ctx, store.Headers, d, content); err != nil {
			k.log.Warn("header not kept", "digest", d.Dir(), "reason", err.Error())
		}
	}
}

// Preparation is what can be done for an artifact before there is one: while its
// compiler is busy. The application may wait for what is left to do after that.
type Preparation struct {
	recipe   *key.Recipe
	previous key.Digest // that the image had before header files changed; zero: not known
	whole    bool       // the artifact is stored as soon as it is built

	// Written by the Keeper, which does it before it stores the artifact.
	nearest *store.Difference // nil: it could not be told
	made    store.Preparer    // that has something to undo; nil: nothing
}

// undo undoes it; p may be nil.
func (p *Preparation) undo(ctx context.Context) {
	if p != nil && p.made != nil {
		p.made.Abort(ctx, p.recipe)
		p.made = nil
	}
}

func (p *Preparation) do(ctx context.Context, k *Keeper) {
	p.nearest = k.nearest(ctx, p.recipe, p.previous)
	if own, ok := k.store.(store.Preparer); ok && own.Prepare(ctx, p.recipe, p.whole) {
		p.made = own
	}
}

func sizeOf(contents map[key.Digest][]byte) int64 {
	var n int64
	for _, content := range contents {
		n += int64(len(content))
	}
	return n
}

// Explain says what keeps a recipe from the nearest entry, and counts that. previous is
// as for Prepare.
func (k *Keeper) Explain(ctx context.Context, name key.Key, r *key.Recipe, previous key.Digest) {
	k.explain(name, k.nearest(ctx, r, previous))
}

// HeaderContents returns the contents of the header files of a recipe that the store
// does not have, from those at hand or from the files themselves, if they are still the
// same. Those that are kept are written already.
func (k *Keeper) HeaderContents(r *key.Recipe, atHand map[key.Digest][]byte, kept map[key.Digest]bool) map[key.Digest][]byte {
	if !r.Image.ReadsFiles() || k.blobs == nil {
		return nil
	}
	all := make(map[key.Digest][]byte)
	for _, u := range r.Image.Units() {
		for _, f := range u.Files {
			if content, ok := atHand[f.Digest]; ok {
				all[f.Digest] = content
				continue
			}
			if _, ok := all[f.Digest]; ok || kept[f.Digest] || k.blobs.HasBlob(store.Headers, f.Digest, f.Size) {
				continue
			}
			content, err := deps.Read(f)
			if err != nil {
				k.log.Debug("header not kept", "path", f.Path, "reason", err.Error())
				continue
			}
			all[f.Digest] = content
		}
	}
	return all
}

func (k *Keeper) count(c stats.Counter) { k.stats.Add(c, 1) }
