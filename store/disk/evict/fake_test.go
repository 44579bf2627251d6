package evict

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/tally"
)

// newAccount returns the account of an empty root.
func newAccount(t testing.TB) *Account {
	dir, _, err := safefs.OpenRoot(t.TempDir(), safefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAccount(tally.Place{Dir: dir, Tmp: dir, Name: "account"})
	t.Cleanup(func() {
		a.Close()
		dir.Close()
	})
	a.Begin(new(Ledger), 1)
	return a
}

// size is what an entry of a fakeRoot takes.
const size = 1000

// fakeRoot is a root in memory. Entry i was used at second i.
type fakeRoot struct {
	t       testing.TB
	account *Account
	walked  func(shard int) // is called before a shard is walked; may be nil
	removed func()          // is called after an entry was removed; may be nil

	mu      sync.Mutex
	entries [Shards][]Victim
	locked  map[int]bool
	events  []string // "lock N", "shard N"
	n       int
}

func newRoot(t testing.TB) *fakeRoot {
	return &fakeRoot{t: t, account: newAccount(t), locked: make(map[int]bool)}
}

// put adds an entry of an image.
func (r *fakeRoot) put(image string) {
	v := Victim{Entry: true, Size: size, Cost: 1, Used: int64(r.n) * int64(time.Second)}
	for i, name := range []string{"device", image, "no constants", fmt.Sprint("options", r.n)} {
		sum := sha256.Sum256([]byte(name))
		copy(v.Names[i][:], sum[:])
	}
	shard := int(v.Names[1][0])
	r.entries[shard] = append(r.entries[shard], v)
	r.n++
	if err := r.account.Add(shard, Usage{size, 1}); err != nil {
		r.t.Fatal(err)
	}
}

// putDistinct adds entries of one image each.
func (r *fakeRoot) putDistinct(n int) {
	for range n {
		r.put(fmt.Sprint("image", r.n))
	}
}

func (r *fakeRoot) event(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprint(what, " ", n))
}

// left returns when the entries were used that are left, in seconds.
func (r *fakeRoot) left() (used []int) {
	for _, all := range r.entries {
		for _, v := range all {
			used = append(used, int(v.Used/int64(time.Second)))
		}
	}
	slices.Sort(used)
	return used
}

func (r *fakeRoot) Lock(n int) (unlock func(), err error) {
	r.event("lock", n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked[n] {
		return nil, lock.ErrBusy
	}
	r.locked[n] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.locked, n)
	}, nil
}

func (r *fakeRoot) List(context.Context, []int) (Walk, error) {
	return r.walk, nil
}

func (r *fakeRoot) walk(ctx context.Context, shard int, of Slice, see func(Found)) (complete bool, err error) {
	r.event("shard", shard)
	if r.walked != nil {
		r.walked(shard)
	}
	if len(r.locked) == 0 {
		r.t.Errorf("shard %d is counted without a lock", shard)
	}
	for _, v := range r.entries[shard] {
		var names [4]string
		for i := range names {
			names[i] = hex.EncodeToString(v.Names[i][:])
		}
		if of.Has(names) {
			see(Found{All: Usage{v.Size, 1}, Account: Usage{v.Size, 1}, Removable: true, Victim: v})
		}
	}
	return true, ctx.Err()
}

func (r *fakeRoot) Shared(context.Context, func(Usage)) error { return nil }

func (r *fakeRoot) Remove(_ context.Context, v *Victim, _ bool) (u Usage, gone bool) {
	all := &r.entries[v.Names[1][0]]
	at := slices.IndexFunc(*all, func(e Victim) bool { return e == *v })
	if at < 0 {
		return Usage{}, false
	}
	*all = slices.Delete(*all, at, at+1)
	if r.removed != nil {
		r.removed()
	}
	return Usage{v.Size, 1}, true
}

// trim returns a trim of a root by lru, at a second.
func (r *fakeRoot) trim(now int, above, down int64) *Trim {
	clock := func() time.Time { return time.Unix(int64(now), 0) }
	return &Trim{
		Root: r, Books: OpenBooks(r.account, false, clock, slog.New(slog.DiscardHandler)), Above: above, Down: down,
		Freed: func(*Victim, Usage) {},
	}
}

// wantAccount checks that the account is right.
func (r *fakeRoot) wantAccount() {
	r.t.Helper()
	total, err := r.account.Total()
	if n := int64(len(r.left())); err != nil || total.Entries != n || total.Bytes != n*size {
		r.t.Errorf("account %+v, %v; %d entries are left", total, err, n)
	}
}
