package evict

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var bg = context.Background()

// TestTrimIsFair: a group is a fair sample, whatever entries have in common: of many
// variants of a program and many other programs those go that were not used for longest.
func TestTrimIsFair(t *testing.T) {
	t.Parallel()
	const n, all = 1500, 3000
	for name, fill := range map[string]func(r *fakeRoot){
		"distinct": func(r *fakeRoot) { r.putDistinct(all) },
		"newer variants": func(r *fakeRoot) {
			r.putDistinct(n)
			for range n {
				r.put("program")
			}
		},
		"older variants": func(r *fakeRoot) {
			for range n {
				r.put("program")
			}
			r.putDistinct(n)
		},
	} {
		r := newRoot(t)
		fill(r)
		// Time after time there is a little too much, as when programs put.
		for time, left := all, int64(all*size); left > all*size*3/4; time++ {
			trim := r.trim(time, left-1, left*2/3)
			if err := trim.Run(bg); err != nil {
				t.Fatal(err)
			}
			if trim.freed == 0 {
				t.Fatalf("%s: nothing is freed of %d bytes", name, left)
			}
			left -= trim.freed
		}
		gone, wrong := all, 0
		for _, used := range r.left() {
			gone--
			if used >= all/2 {
				wrong++
			}
		}
		if wrong = all/2 - wrong; gone < all/4 || wrong*100 > 2*gone {
			t.Errorf("%s: of %d that are gone, %d are of the better half", name, gone, wrong)
		}
		r.wantAccount()
	}
}

// TestGroupsInTurn: the group that was not trimmed for longest is trimmed, and no more
// than are needed.
func TestGroupsInTurn(t *testing.T) {
	t.Parallel()
	const groups = 4 // of 1,800 entries
	r := newRoot(t)
	r.putDistinct(1500)
	for range 300 {
		r.put("program")
	}
	large := shardOf(r, 1799)
	var order []int
	for time := range 2 * groups {
		r.events = nil
		total := int64(len(r.left())) * size
		if err := r.trim(2000+time, total-1, total*9/10).Run(bg); err != nil {
			t.Fatal(err)
		}
		group := -1
		for _, e := range r.events {
			var shard int
			if _, err := fmt.Sscanf(e, "shard %d", &shard); err != nil || shard == large {
				continue
			}
			if at := shard * groups / Shards; group >= 0 && group != at {
				t.Errorf("run %d: shards of groups %d and %d are counted", time, group, at)
			} else {
				group = at
			}
		}
		order = append(order, group)
	}
	seen := make(map[int]bool)
	for _, g := range order[:groups] {
		seen[g] = true
	}
	if d := cmp.Diff(order[:groups], order[groups:]); len(seen) != groups || d != "" {
		t.Errorf("groups are trimmed in the order %v", order)
	}
}

// shardOf returns the shard of the entry that was used at a second.
func shardOf(r *fakeRoot, used int) int {
	for shard, all := range r.entries {
		for _, v := range all {
			if v.Used/1e9 == int64(used) {
				return shard
			}
		}
	}
	r.t.Fatalf("no entry %d", used)
	return 0
}

// TestLocksOfGroups: as docs/FORMAT.md says; and every leaf is in one group.
func TestLocksOfGroups(t *testing.T) {
	t.Parallel()
	for _, entries := range []int64{1000, 1024, 2048, 5000, 20_000, 1_000_000} {
		r := newRoot(t)
		trim := r.trim(1, 0, 0)
		for shard := range Shards {
			trim.Books.l[shard] = slot{entries: entries / Shards, counted: 1}
		}
		const large = 77
		trim.Books.l[large].entries = entries
		whole, slices := make(map[int]int), make(map[int]bool)
		groups := trim.groups()
		for _, g := range groups {
			for _, shard := range g.whole {
				whole[shard]++
			}
			if len(groups) > 1 {
				if d := cmp.Diff([]int{large}, g.large); d != "" {
					t.Errorf("%d entries: %s", entries, d)
				}
				slices[g.slice.Index] = true
			}
			if g.slice.Of != len(groups) || g.lock() != g.whole[0]/32 {
				t.Errorf("%d entries: lock %d for %v", entries, g.lock(), g.whole)
			}
		}
		if len(groups) > 1 {
			whole[large]++
			if len(slices) != len(groups) {
				t.Errorf("%d entries: %d slices for %d groups", entries, len(slices), len(groups))
			}
		}
		for shard := range Shards {
			if whole[shard] != 1 {
				t.Errorf("%d entries: shard %d is in %d groups", entries, shard, whole[shard])
			}
		}
	}
	names := func(i int) [4]string {
		return [4]string{"", "a0", fmt.Sprintf("%02x", i%7), fmt.Sprintf("%02x", i)}
	}
	var per [64]int
	for i := range 256 {
		in := 0
		for index := range per {
			if (Slice{index, len(per)}).Has(names(i)) {
				per[index]++
				in++
			}
		}
		if in != 1 || !(Slice{}).Has(names(i)) {
			t.Errorf("leaf %d is in %d slices", i, in)
		}
	}
	for index, n := range per {
		if n > 16 {
			t.Errorf("slice %d has %d of 256 leaves", index, n)
		}
	}
}

// TestTrimsOfOneGroupExclude: while one trims a group, another one trims others, or, of a
// small root, nothing.
func TestTrimsOfOneGroupExclude(t *testing.T) {
	t.Parallel()
	for _, entries := range []int{900, 2000} {
		r := newRoot(t)
		r.putDistinct(entries)
		total := int64(entries) * size
		first, second := r.trim(1000, total-1, total*2/3), r.trim(1000, total-1, total*2/3)
		var by [2]map[int]bool
		nested, who := false, 0
		r.walked = func(shard int) {
			if by[who] == nil {
				by[who] = make(map[int]bool)
			}
			by[who][shard] = true
			if !nested {
				nested, who = true, 1
				if err := second.Run(bg); err != nil {
					t.Error(err)
				}
				who = 0
			}
		}
		if err := first.Run(bg); err != nil {
			t.Fatal(err)
		}
		for shard := range by[0] {
			if by[1][shard] {
				t.Errorf("%d entries: shard %d is counted by both", entries, shard)
			}
		}
		if one := entries < 1024; one != (len(by[1]) == 0) || one && !second.busy || one != (second.freed == 0) || !one && first.freed > 0 {
			t.Errorf("%d entries: %d bytes are freed by one, %d by the other", entries, first.freed, second.freed)
		}
	}
}

// TestOthersFreeMeanwhile: two that see different groups, and so lock each other not out,
// free together no more than one would.
func TestOthersFreeMeanwhile(t *testing.T) {
	t.Parallel()
	const entries, need = 900, 300
	r := newRoot(t)
	r.putDistinct(entries)
	add := func(n int64) {
		if err := r.account.Add(Shared, Usage{Bytes: n * size}); err != nil {
			t.Error(err)
		}
	}
	add(need)
	freed := 0
	r.removed = func() {
		freed += 2
		add(-1) // somebody else's
	}
	if err := r.trim(1000, (entries+need-1)*size, entries*size).Run(bg); err != nil {
		t.Fatal(err)
	}
	if freed < need || freed > need+2*16 {
		t.Errorf("%d are gone, want %d", freed, need)
	}
}

// TestHurriedTrimMakesRoom: who has no time for a whole group frees, of what was seen, as
// much as lets puts go on.
func TestHurriedTrimMakesRoom(t *testing.T) {
	t.Parallel()
	const entries, over = 900, 7
	r := newRoot(t)
	r.putDistinct(entries)
	hurried, hurry := context.WithCancel(bg)
	seen := 0
	r.walked = func(shard int) {
		if seen += len(r.entries[shard]); seen >= 2*over { // a share is a third of these, or less
			hurry()
		}
	}
	trim := r.trim(1000, (entries-over)*size, entries*size*2/3)
	trim.hurry = hurried
	if err := trim.Run(bg); err != nil {
		t.Fatal(err)
	}
	if got := entries - len(r.left()); got != over || !trim.partial {
		t.Errorf("%d are gone of %d seen, want %d", got, seen, over)
	}
	r.wantAccount()
}

// TestDryRun: nothing changes, and what would go is what does.
func TestDryRun(t *testing.T) {
	t.Parallel()
	const entries, limit = 2000, 1500
	r := newRoot(t)
	r.putDistinct(entries)
	unlock, err := r.Lock(0) // as a sweep does
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for _, dry := range []bool{true, false} {
		trim := r.trim(1000, limit*size, limit*size)
		trim.Everything, trim.DryRun, trim.Books.frozen = true, dry, dry
		var would int
		trim.Freed = func(*Victim, Usage) { would++ }
		var before Ledger
		if err := r.account.Read(&before); err != nil {
			t.Fatal(err)
		}
		if err := trim.Run(bg); err != nil {
			t.Fatal(err)
		}
		var after Ledger
		if err := r.account.Read(&after); err != nil {
			t.Fatal(err)
		}
		if would != entries-limit || dry && (after != before || len(r.left()) != entries) {
			t.Errorf("dry %v: %d go, %d are left", dry, would, len(r.left()))
		}
	}
	r.wantAccount()
	if n := len(r.left()); n != limit {
		t.Errorf("%d are left, want %d", n, limit)
	}
}

// joined are the events of a root without those of shards but the first.
func joined(r *fakeRoot) string {
	var short []string
	for _, e := range r.events {
		if !strings.HasPrefix(e, "shard") {
			short = append(short, e)
		} else if len(short) == 0 || short[len(short)-1] != "shards" {
			short = append(short, "shards")
		}
	}
	return strings.Join(short, ", ")
}
