package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// root is a cache of a test.
type root struct {
	t *testing.T
	c cli.Cache
}

func newRoot(t *testing.T) root {
	t.Helper()
	return openRoot(t, filepath.Join(t.TempDir(), "root"))
}

func openRoot(t *testing.T, dir string) root {
	t.Helper()
	d := disk.New(disk.Options{Dir: dir, Records: true})
	t.Cleanup(func() { d.Close() })
	s, err := settings.Load(settings.Inputs{Environ: []string{"KERNSTASH_DIR=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	return root{t, cli.Cache{App: &cli.App{Err: io.Discard}, Disk: d, Settings: s}}
}

// entry returns the entry of a number: of 100·n bytes of code, built in n ms.
func entry(t testing.TB, n int) *store.Entry {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, fmt.Appendf(nil, "kernel void k%d() {}", n))
	if err != nil {
		t.Fatal(err)
	}
	recipe := &key.Recipe{
		Device: key.Device{API: "test", Platform: "p", Name: "n", Version: "1", Driver: "2"}, Image: img, Options: key.NewOptions("", ""),
	}
	return &store.Entry{Key: recipe.Key(), Recipe: recipe, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: make([]byte, 100*n)}}, Kernels: []store.Kernel{{Name: fmt.Sprint(n)}},
		Cost: time.Duration(n) * time.Millisecond, Created: time.Now(),
	}}
}

// put stores the entry of a number, used so many minutes ago; a miss is recorded of it if that is wanted.
func (r root) put(n int, ago time.Duration, recorded bool) {
	r.t.Helper()
	e := entry(r.t, n)
	if _, err := r.c.Disk.Put(context.Background(), e); err != nil {
		r.t.Fatal(err)
	}
	r.use(n, ago)
	if recorded {
		r.record(records.Line{Kind: records.Miss, At: time.Now().Add(-ago), App: "a", Entry: records.EntryOf(e.Key), Cost: e.Artifact.Cost})
	}
}

func (r root) path(n int) string {
	p := records.PlaceOf(entry(r.t, n).Key)
	return filepath.Join(r.c.Disk.Dir(), filepath.FromSlash((&disk.Facts{Place: p, Number: 0}).Location()))
}

// use sets when an entry was used, as a hit does.
func (r root) use(n int, ago time.Duration) {
	r.t.Helper()
	at := time.Now().Add(-ago)
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(r.path(n)), "*.bin"))
	if len(all) != 1 {
		r.t.Fatalf("%d: %q", n, all)
	}
	if err := os.Chtimes(all[0], at, at); err != nil {
		r.t.Fatal(err)
	}
}

func (r root) record(l records.Line) {
	r.t.Helper()
	if err := r.c.Disk.AppendRecords(l.Append([]byte("\n"))); err != nil {
		r.t.Fatal(err)
	}
}

// list returns the numbers of the entries in an order.
func (r root) list(o Order) (all []int) {
	r.t.Helper()
	all, err := r.tryList(o, true)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

var errNone = errors.New("there is no catalog")

func (r root) tryList(o Order, make bool) (all []int, err error) {
	ctx := context.Background()
	k, err := open(ctx, r.c, make, 1) // a cache is large as soon as it has something
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, errNone
	}
	defer k.Close()
	book, err := ledger.Open(ctx, r.c)
	if err != nil {
		return nil, err
	}
	defer book.Close()
	for info, err := range k.List(ctx, o, book) {
		if err != nil {
			return all, err
		}
		var n int
		if _, err := fmt.Sscan(info.Kernels[0], &n); err != nil {
			return all, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (r root) want(what string, o Order, want ...int) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.list(o)); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// ready reports whether the catalog is up to date without reading parts of the cache.
func (r root) ready() bool {
	r.t.Helper()
	_, err := r.tryList(Size, false)
	if err != nil && !errors.Is(err, errNone) {
		r.t.Fatal(err)
	}
	return err == nil
}

// TestOrders: entries come in every order, whoever stored, used or removed them since.
func TestOrders(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for n, ago := range map[int]time.Duration{3: time.Hour, 1: 3 * time.Hour, 2: 2 * time.Hour} {
		r.put(n, ago, false)
	}
	if r.ready() {
		t.Error("there is a catalog of what nobody looked at")
	}
	r.want("size", Size, 3, 2, 1)
	r.want("cost", Cost, 3, 2, 1)
	r.want("age", Age, 1, 2, 3)
	r.want("used", Used, 3, 2, 1)
	r.want("unrecorded", Unrecorded, r.list(Unrecorded)...)

	// The records tell what is built; so nothing is read for it.
	r.put(5, 30*time.Minute, true)
	r.put(4, 90*time.Minute, true)
	if !r.ready() {
		t.Error("what was recorded is read for")
	}
	r.want("recorded", Size, 5, 4, 3, 2, 1)
	r.want("recorded", Age, 1, 2, 4, 3, 5)
	if all := r.list(Unrecorded); len(all) != 3 {
		t.Errorf("not recorded: %v", all)
	}

	// The account tells of what nobody recorded.
	r.put(6, time.Minute, false)
	if r.ready() {
		t.Error("what was not recorded is not read for")
	}
	r.want("not recorded", Size, 6, 5, 4, 3, 2, 1)
	if !r.ready() {
		t.Error("it is read again")
	}

	// A hit is seen when the entry is looked at, or told by the records.
	r.use(1, 45*time.Minute)
	r.want("used since", Age, 2, 4, 3, 1, 5, 6)
	r.use(2, 0)
	r.record(records.Line{Kind: records.Hits, At: time.Now(), Since: time.Now(), App: "a", Entry: records.EntryOf(entry(t, 2).Key), Hits: 1, Saved: 1})
	r.want("used since", Used, 2, 6, 5, 1, 3, 4)
	at := time.Now().Add(-10 * time.Minute) // where the file has not got it
	r.record(records.Line{Kind: records.Hits, At: at, Since: at, App: "a", Entry: records.EntryOf(entry(t, 4).Key), Hits: 1, Saved: 1})
	r.want("used since, by the records", Used, 2, 6, 4, 5, 1, 3)

	// What is removed behind its back is not listed.
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(filepath.Dir(r.path(3))))); err != nil {
		t.Fatal(err)
	}
	if err := r.c.Disk.Delete(context.Background(), entry(t, 5).Key); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is mended
		r.want("removed", Size, 6, 4, 2, 1)
	}
	if !r.ready() {
		t.Error("what was removed is read for")
	}
	// And stored again.
	r.put(3, 0, true)
	r.put(5, 0, false)
	r.want("stored again", Cost, 6, 5, 4, 3, 2, 1)
}

// TestAgainstTheCache: after random changes the catalog has what the cache has, in order.
func TestAgainstTheCache(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(timing.Seed(t), 1))
	r := newRoot(t)
	there := make(map[int]bool)
	r.put(1000, 0, false)
	there[1000] = true
	for round := range 20 {
		for range random.IntN(6) {
			switch n := 1 + random.IntN(60); {
			case !there[n]:
				r.put(n, time.Duration(random.IntN(10_000))*time.Second, random.IntN(2) == 0)
				there[n] = true
			case random.IntN(2) == 0:
				if err := r.c.Disk.Delete(context.Background(), entry(t, n).Key); err != nil {
					t.Fatal(err)
				}
				delete(there, n)
			default:
				r.use(n, 0) // later than before, as every hit is
			}
		}
		var want []int
		for n := range there {
			want = append(want, n)
		}
		slices.Sort(want)
		slices.Reverse(want)
		for _, o := range []Order{Size, Cost} {
			if diff := cmp.Diff(want, r.list(o)); diff != "" {
				t.Fatalf("round %d, order %d (-want +got):\n%s", round, o, diff)
			}
		}
		age := make(map[int]int64)
		for n := range there {
			all, _ := filepath.Glob(filepath.Join(filepath.Dir(r.path(n)), "*.bin"))
			info, err := os.Stat(all[0])
			if err != nil {
				t.Fatal(err)
			}
			age[n] = info.ModTime().UnixNano()
		}
		slices.SortFunc(want, func(a, b int) int { return int(min(max(age[a]-age[b], -1), 1)) })
		if diff := cmp.Diff(want, r.list(Age)); diff != "" {
			t.Fatalf("round %d, age (-want +got):\n%s", round, diff)
		}
	}
}

// TestDamaged: whatever is in the place of the catalog's files, the entries are listed, or it is said that it is damaged, and the next
// command makes it anew.
func TestDamaged(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(timing.Seed(t), 2))
	r := newRoot(t)
	var want []int
	for n := 40; n > 0; n-- {
		r.put(n, time.Duration(n)*time.Minute, n%2 == 0)
		want = append(want, n)
	}
	r.want("size", Size, want...)
	dir := r.c.Disk.Catalog()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != disk.Parts+1 {
		t.Fatal(len(files), err)
	}
	damage := []func(path string) error{
		os.Remove,
		func(p string) error { return os.WriteFile(p, nil, 0o600) },
		func(p string) error { return os.Truncate(p, 30) },
		func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/etc/passwd", p)) },
		func(p string) error {
			b, err := os.ReadFile(p)
			b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
			return errors.Join(err, os.WriteFile(p, b, 0o600))
		},
	}
	for i := range 30 {
		file := files[random.IntN(len(files))].Name()
		if i%4 == 0 {
			file = stateName
		} else if i%4 == 1 { // one with rows
			file = nameOf(disk.PartOf(records.PlaceOf(entry(t, 1+random.IntN(40)).Key)))
		}
		if err := damage[i%len(damage)](filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		told := 0 // by the first of those that read what is damaged
		for _, order := range []Order{Order(i % sorted), Size} {
			all, err := r.tryList(order, true)
			if errors.Is(err, errDamaged) {
				told++
			} else if err != nil || len(all) != len(want) {
				t.Fatalf("%d, %s: %v, %v", i, file, all, err)
			}
		}
		if told > 1 {
			t.Fatalf("%d, %s: told twice that it is damaged", i, file)
		}
		r.want(fmt.Sprint(i, " ", file), Size, want...)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	r.want("removed", Size, want...)
}

// TestConcurrent: commands that sort at once, while entries are stored, do not lose any.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	first := openRoot(t, dir)
	first.put(1, 0, false)
	first.want("one", Size, 1)
	const most = 60
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 2; n <= most; n++ {
			first.put(n, 0, n%3 > 0)
		}
	})
	for range 4 {
		r := openRoot(t, dir)
		wg.Go(func() {
			for range 8 {
				all, err := r.tryList(Size, true)
				if err != nil && !errors.Is(err, errNone) && !errors.Is(err, errDamaged) && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%v", err)
				}
				if !slices.IsSortedFunc(all, func(a, b int) int { return b - a }) {
					t.Errorf("%v", all)
				}
			}
		})
	}
	wg.Wait()
	var want []int
	for n := most; n > 0; n-- {
		want = append(want, n)
	}
	first.want("in the end", Size, want...)
}

// TestReadOnly: there is no catalog where none may be made.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.put(1, 0, false)
	r.c.Settings.Mode = settings.ModeReadOnly
	if _, err := r.tryList(Size, true); !errors.Is(err, errNone) {
		t.Error(err)
	}
	if _, err := os.Lstat(r.c.Disk.Catalog()); err == nil {
		t.Error("there is a catalog")
	}
}
