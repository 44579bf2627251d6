package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

func aKey(n int) key.Key {
	d := func(part string) key.Digest { return sha256.Sum256(fmt.Append(nil, part, n)) }
	return key.New(d("device"), d("image"), d("constants"), d("options"))
}

func newCache(t *testing.T) cli.Cache {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	d := disk.New(disk.Options{Dir: dir})
	t.Cleanup(func() { d.Close() })
	s, err := settings.Load(settings.Inputs{Environ: []string{"KERNSTASH_DIR=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	return cli.Cache{App: &cli.App{Err: io.Discard}, Disk: d, Settings: s}
}

func record(t *testing.T, c cli.Cache, lines ...records.Line) {
	t.Helper()
	b := []byte("\n")
	for _, l := range lines {
		b = l.Append(b)
	}
	if err := c.Disk.AppendRecords(b); err != nil {
		t.Fatal(err)
	}
}

func openLedger(t *testing.T, c cli.Cache) *Ledger {
	t.Helper()
	l, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

var now = time.Unix(time.Now().Unix()-1000, 0)

func hits(n int, app string, count int, saved time.Duration, ago time.Duration) records.Line {
	return records.Line{
		Kind: records.Hits, At: now.Add(-ago), Since: now.Add(-ago), App: app, Entry: records.EntryOf(aKey(n)), Hits: int64(count), Saved: saved, Label: fmt.Sprint("k", n),
	}
}

func miss(n int, app string, cost time.Duration) records.Line {
	return records.Line{Kind: records.Miss, At: now, App: app, Entry: records.EntryOf(aKey(n)), Cost: cost, Reason: "miss.absent", Nearest: "x"}
}

func gone(n int, why string) records.Line {
	return records.Line{Kind: records.Gone, At: now, Entry: records.Entry{Place: records.PlaceOf(aKey(n))}, Reason: why}
}

// numbers returns which of the first entries are in an order.
func numbers(t *testing.T, each func(f func(*Entry) bool) error) (all []int) {
	t.Helper()
	err := each(func(e *Entry) bool {
		for n := range 100 {
			if records.PlaceOf(aKey(n)) == e.Key.Place {
				all = append(all, n)
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func order(o Order) func(*Ledger) func(f func(*Entry) bool) error {
	return func(l *Ledger) func(f func(*Entry) bool) error {
		return func(f func(*Entry) bool) error { return l.Each(o, f) }
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	if l := openLedger(t, c); l.db != nil {
		t.Error("there is an index of a cache that is not there")
	}
	record(t, c,
		hits(1, "a", 5, 10*time.Second, time.Hour),
		hits(2, "a", 9, time.Second, -time.Minute),
		hits(3, "b", 1, 20*time.Second, 48*time.Hour),
		miss(4, "b", time.Minute), miss(5, "a", time.Millisecond), hits(5, "a", 2, 2, -2*time.Minute),
		records.Line{Kind: records.Miss, At: now, App: "c", Reason: "cannot be cached", Cost: time.Second})
	l := openLedger(t, c)
	l.Close()
	record(t, c, hits(1, "b", 1, 30*time.Second, 2*time.Hour), hits(4, "b", 3, time.Minute, 0))
	l = openLedger(t, c)
	for _, tt := range []struct {
		name string
		of   func(*Ledger) func(f func(*Entry) bool) error
		want []int
	}{
		{"saved", order(Saved), []int{4, 1, 3, 2, 5}},
		{"hits", order(Hits), []int{2, 1, 4, 5, 3}},
		{"used", order(Used), []int{5, 2, 4, 1, 3}},
		{"a", func(l *Ledger) func(f func(*Entry) bool) error {
			return func(f func(*Entry) bool) error { return l.OfApplication("a", f) }
		}, []int{1, 2, 5}},
		{"b", func(l *Ledger) func(f func(*Entry) bool) error {
			return func(f func(*Entry) bool) error { return l.OfApplication("b", f) }
		}, []int{4, 3, 1}},
		{"none", func(l *Ledger) func(f func(*Entry) bool) error {
			return func(f func(*Entry) bool) error { return l.OfApplication("", f) }
		}, nil},
	} {
		got := numbers(t, tt.of(l))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	e, err := l.Of(records.PlaceOf(aKey(1)))
	if err != nil || e == nil {
		t.Fatal(err)
	}
	first := now.Add(-2 * time.Hour).Unix()
	want := &Entry{Key: records.EntryOf(aKey(1)), Label: "k1", Apps: map[string]Use{
		"a": {Hits: 5, Saved: 10e6, First: now.Add(-time.Hour).Unix(), Last: now.Add(-time.Hour).Unix()},
		"b": {Hits: 1, Saved: 30e6, First: first, Last: first},
	}}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if apps, err := l.Applications(); err != nil || !slices.Equal(apps, []string{"a", "b"}) {
		t.Errorf("%q, %v", apps, err)
	}
	days, err := l.Days()
	var d Sums
	for _, one := range days {
		d.Add(one.Sums)
	}
	if diff := cmp.Diff(Sums{Hits: 21, Misses: 3, Saved: 121e6, Spent: 61_001_000}, d); diff != "" || err != nil || len(days) < 2 {
		t.Errorf("days %+v, %v (-want +got):\n%s", days, err, diff)
	}
	keys, err := Keys(context.Background(), c, "b")
	if want := []key.Key{aKey(4), aKey(3), aKey(1)}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("keys %v, %v", keys, err)
	}
}

// TestTotals: days of a year, and what each application did, are summed up over merges, and outlive entries.
func TestTotals(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	const day = 24 * time.Hour
	record(t, c, hits(1, "a", 5, 10*time.Second, 0), miss(1, "b", time.Minute), hits(1, "a", 2, time.Second, 3*day),
		hits(1, "a", 1, time.Second, 364*day), hits(1, "a", 1, time.Second, 367*day), hits(1, "a", 1, time.Second, -40*day))
	openLedger(t, c).Close()
	record(t, c, hits(2, "b", 1, 30*time.Second, 0), gone(2, records.Evicted), records.Line{Kind: records.Miss, At: now, Cost: time.Second})
	l := openLedger(t, c)
	days, err := l.Days()
	of := make(map[string]Sums)
	for _, d := range days {
		of[d.Date] = d.Sums
	}
	want := map[string]Sums{
		dateOf(now):               {Hits: 6, Misses: 2, Saved: 40e6, Spent: 61e6},
		dateOf(now.Add(-3 * day)): {Hits: 2, Saved: 1e6}, dateOf(now.Add(-364 * day)): {Hits: 1, Saved: 1e6},
	}
	if diff := cmp.Diff(want, of); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	totals := func() []Application {
		l := openLedger(t, c)
		defer l.Close()
		all, err := l.Totals()
		if err != nil {
			t.Error(err)
		}
		return all
	}
	l.Close()
	b, other := Application{"b", Sums{Hits: 1, Misses: 1, Saved: 30e6, Spent: 60e6}}, Application{"?", Sums{Misses: 1, Spent: 1e6}}
	if diff := cmp.Diff([]Application{b, {"a", Sums{Hits: 10, Saved: 14e6}}, other}, totals()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, _, err := ForgetApplication(context.Background(), c.Disk, "a"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]Application{b, other}, totals()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var lines []records.Line
	for i := range maxTotals + 10 {
		lines = append(lines, hits(1, fmt.Sprint("app", i), 1, 1, 0))
	}
	record(t, c, lines...)
	if all := totals(); len(all) > maxTotals+1 || !slices.ContainsFunc(all, func(a Application) bool { return a.App == Others }) {
		t.Errorf("%d applications", len(all))
	}
	record(t, c, hits(1, "a", 1, 1, 0)) // not seen before that
	if err := ResetTotals(context.Background(), c.Disk); err != nil {
		t.Error(err)
	}
	if all := totals(); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}

// TestWhatItWas: of what is missed it is told whether it was there before, and why it went.
func TestWhatItWas(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	record(t, c,
		miss(1, "a", 1), miss(1, "a", 1), // seen, not kept
		gone(1, records.Evicted), miss(1, "a", 1), miss(1, "a", 1),
		hits(2, "a", 1, 1, 0), gone(2, records.Damaged), miss(2, "a", 1),
		gone(3, records.Old), miss(3, "a", 1))
	openLedger(t, c).Close()
	record(t, c, miss(4, "a", 1), gone(4, records.Evicted))
	openLedger(t, c).Close()
	record(t, c, miss(4, "a", 1))
	var was []string
	l := openLedger(t, c)
	err := l.Misses(func(m *Missed) bool { was = append(was, m.Was); return true })
	slices.Reverse(was)
	want := []string{NeverSeen, NotKept, records.Evicted, NotKept, records.Damaged, records.Old, NeverSeen, records.Evicted}
	if diff := cmp.Diff(want, was); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	l.Close()
	// What is not there is in no order, until it is used again.
	record(t, c, gone(4, records.Evicted))
	l = openLedger(t, c)
	if got := numbers(t, order(Saved)(l)); slices.Contains(got, 4) || len(got) != 3 {
		t.Errorf("%v", got)
	}
	l.Close()
	Mend(c.Disk, []records.Place{records.PlaceOf(aKey(1))})
	l = openLedger(t, c)
	if got := numbers(t, order(Saved)(l)); len(got) != 2 {
		t.Errorf("mended: %v", got)
	}
	l.Close()
	record(t, c, hits(1, "a", 1, 1, -2*time.Hour))
	if got := numbers(t, order(Saved)(openLedger(t, c))); len(got) != 3 {
		t.Errorf("used again: %v", got)
	}
}

// TestMergedOnce: a file of records that was merged and could not be removed is not merged again.
func TestMergedOnce(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	record(t, c, hits(1, "a", 1, 1, 0))
	dir := filepath.Join(c.Settings.Dir, ".meta", "records")
	err := c.Disk.TakeRecords(context.Background(), func(string, []byte) error { return errors.New("it stays") })
	names, _ := filepath.Glob(dir + "/*.1")
	if err == nil || len(names) != 1 {
		t.Fatal(err, names)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l := openLedger(t, c)
		e, err := l.Of(records.PlaceOf(aKey(1)))
		if err != nil || e == nil || e.Total().Hits != 1 {
			t.Fatalf("%+v, %v", e, err)
		}
		l.Close()
		if err := os.WriteFile(names[0], b, 0o600); err != nil { // it was not removed
			t.Fatal(err)
		}
	}
}

// TestMergedInParts: a file that is larger than what one transaction merges counts whole, and once.
func TestMergedInParts(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	const n = 1500 // some 250 bytes each
	lines := []records.Line{miss(1, "a", time.Second)}
	for i := range n {
		lines = append(lines, hits(1+i%7, "a", 1, time.Second, 0))
	}
	record(t, c, lines...)
	l := openLedger(t, c)
	defer l.Close()
	days, err := l.Days()
	if err != nil || len(days) != 1 || days[0].Hits != n || days[0].Misses != 1 {
		t.Errorf("%+v, %v", days, err)
	}
	e, err := l.Of(records.PlaceOf(aKey(1)))
	if err != nil || e == nil || e.Total().Hits != n/7+1 {
		t.Errorf("%+v, %v", e, err)
	}
	all := numbers(t, func(f func(*Entry) bool) error { return l.OfApplication("a", f) })
	if len(all) != 7 {
		t.Errorf("%v", all)
	}
}

// TestNothingToMerge: who asks where nothing was recorded since does not touch the index.
func TestNothingToMerge(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	record(t, c, hits(1, "a", 1, 1, 0))
	openLedger(t, c).Close()
	digest := c.Disk.RecordsIndex() + sumSuffix
	before, err := os.Stat(digest)
	if err != nil {
		t.Fatal(err)
	}
	l := openLedger(t, c)
	defer l.Close()
	if after, err := os.Stat(digest); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("%v, %v", after, err)
	}
	if all := numbers(t, func(f func(*Entry) bool) error { return l.Each(Saved, f) }); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

func TestFirstLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ b, want string }{
		{"", ""},
		{"a\nb", "a\nb"},
		{"ab\ncd\nef", "ab\n"},
		{"\nabcdef\n", "\n"},
		{"abcdefgh\ni\n", "abcdefgh\n"},
		{"abcdefgh", "abcdefgh"},
	} {
		if got := string(firstLines([]byte(c.b), 5)); got != c.want {
			t.Errorf("%q begins with %q, want %q", c.b, got, c.want)
		}
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	ctx := context.Background()
	record(t, c, hits(1, "a", 1, 1, 0), hits(1, "b", 1, 1, 0), miss(2, "a", 1), miss(3, "b", 1))
	entries, misses, err := ForgetApplication(ctx, c.Disk, "a")
	if err != nil || entries != 2 || misses != 1 {
		t.Errorf("%d entries, %d misses, %v", entries, misses, err)
	}
	l := openLedger(t, c)
	if apps, err := l.Applications(); err != nil || !slices.Equal(apps, []string{"b"}) {
		t.Errorf("%q, %v", apps, err)
	}
	if e, err := l.Of(records.PlaceOf(aKey(2))); e != nil || err != nil {
		t.Errorf("%+v, %v", e, err)
	}
	l.Close()
	record(t, c, hits(1, "c", 1, 1, 0))
	if err := Forget(ctx, c.Disk); err != nil {
		t.Error(err)
	}
	err = filepath.WalkDir(c.Settings.Dir, func(path string, _ os.DirEntry, err error) error {
		if ok, _ := filepath.Match("*.1", filepath.Base(path)); ok || filepath.Base(path) == "records.db" {
			t.Errorf("%s is there", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if l := openLedger(t, c); len(numbers(t, order(Saved)(l))) > 0 {
		t.Error("something is known")
	}
}

// TestBounds: misses, and what is known of entries that are gone, are bounded in number and in time.
func TestBounds(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	var lines []records.Line
	for i := range maxMisses + 1000 {
		l := miss(i, "a", 1)
		if i < 100 {
			l.At = l.At.Add(-40 * 24 * time.Hour)
		}
		if lines = append(lines, l, gone(i, records.Evicted)); len(lines) == 2000 {
			record(t, c, lines...)
			lines = nil
		}
	}
	record(t, c, lines...)
	l := openLedger(t, c)
	n := 0
	if err := l.Misses(func(m *Missed) bool { n++; return true }); err != nil || n != maxMisses {
		t.Errorf("%d misses, %v", n, err)
	}
	err := l.view(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketEntries, bucketAbsent, bucketApps} {
			if n := tx.Bucket(name).Inspect().KeyN; n != maxAbsent {
				t.Errorf("%s: %d", name, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDamagedIndex: whatever is in the place of the index, commands answer, or say that it is damaged, and the next one but
// one begins anew.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(timing.Seed(t), 1))
	base := newCache(t)
	var lines []records.Line
	for i := range 300 {
		lines = append(lines, miss(i, "a", 1), hits(i, "b", 1, 1, 0))
	}
	record(t, base, lines...)
	openLedger(t, base).Close()
	good, err := os.ReadFile(base.Disk.RecordsIndex())
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func(path string) error{
		"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"text":      func(p string) error { return os.WriteFile(p, slices.Repeat([]byte("text "), 10_000), 0o600) },
		"short":     func(p string) error { return os.WriteFile(p, []byte("short"), 0o600) },
		"FIFO":      func(p string) error { return exec.Command("mkfifo", p).Run() },
		"directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
		"truncated": func(p string) error { return os.WriteFile(p, good[:len(good)/3], 0o600) },
		"link":      func(p string) error { return os.Symlink("/etc/passwd", p) },
	}
	rounds := 20
	if timing.IsLong() {
		rounds = 100
	}
	for i := range rounds {
		b := slices.Clone(good)
		for range 1 + random.IntN(50) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		damage[fmt.Sprint("random ", i)] = func(p string) error { return os.WriteFile(p, b, 0o600) }
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCache(t)
			record(t, c, lines...)
			openLedger(t, c).Close()
			if err := os.Remove(c.Disk.RecordsIndex()); err != nil {
				t.Fatal(err)
			}
			if err := do(c.Disk.RecordsIndex()); err != nil {
				t.Fatal(err)
			}
			use := func() (err error) {
				l, err := Open(context.Background(), c)
				if err != nil {
					return err
				}
				defer l.Close()
				_, days := l.Days()
				nothing := func(*Entry) bool { return true }
				return errors.Join(l.Each(Saved, nothing), l.Each(Hits, nothing), l.OfApplication("a", nothing), days,
					l.Misses(func(*Missed) bool { return true }))
			}
			var last error
			for range 6 { // each finds another damage at most
				if last = use(); last != nil && !broken(last) && !errors.Is(last, os.ErrNotExist) {
					t.Errorf("%v", last)
				}
				record(t, c, hits(1, "a", 1, 1, 0), miss(2, "b", 1))
			}
			if last != nil {
				t.Errorf("in the end: %v", last)
			}
		})
	}
}

// TestIndexIsShared: while one command prints from the index others read it, and go without merging.
func TestIndexIsShared(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	record(t, c, hits(1, "a", 1, 1, 0))
	l := openLedger(t, c)
	record(t, c, hits(2, "a", 1, 1, 0))
	other := openLedger(t, c)
	if got := numbers(t, order(Saved)(other)); !slices.Equal(got, []int{1}) {
		t.Errorf("%v", got)
	}
	l.Close()
	other.Close()
	if got := numbers(t, order(Saved)(openLedger(t, c))); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestReadOnly: where the cache is not to be written nothing is merged or made.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	c := newCache(t)
	record(t, c, hits(1, "a", 1, 1, 0))
	c.Settings.Mode = settings.ModeReadOnly
	l := openLedger(t, c)
	if got := numbers(t, order(Saved)(l)); got != nil {
		t.Errorf("%v", got)
	}
	if _, err := os.Lstat(c.Disk.RecordsIndex()); err == nil {
		t.Error("there is an index")
	}
}

// TestHurried: who has little time believes an index that is larger than he can look at, and does not take it for damaged.
func TestHurried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size             int64
		patient, hurried bool // whether the damage is seen
	}{{hurriedSummed, true, true}, {hurriedSummed + 1, true, false}, {maxSummed + 1, false, false}} {
		cache := newCache(t)
		record(t, cache, hits(1, "a", 1, 1, 0))
		openLedger(t, cache).Close()
		index := cache.Disk.RecordsIndex()
		if err := os.Truncate(index, c.size); err != nil { // its digest is that of what it was
			t.Fatal(err)
		}
		for _, hurried := range []bool{false, true} {
			l := &Ledger{d: cache.Disk, hurried: hurried}
			want := c.patient
			if hurried {
				want = c.hurried
			}
			if err := l.checkSum(); errors.Is(err, errBroken) != want || err != nil && !want {
				t.Errorf("%d bytes, hurried %v: %v", c.size, hurried, err)
			}
		}
	}
}

// TestLook: who does not merge finds the numbers that are there once somebody has merged, and leaves what waits.
func TestLook(t *testing.T) {
	t.Parallel()
	type found struct {
		Days   []Day
		Totals []Application
		Misses []Missed
	}
	all := func(l *Ledger) (f found) {
		t.Helper()
		var err, failed error
		if f.Days, err = l.Days(); err != nil {
			t.Error(err)
		}
		f.Totals, failed = l.Totals()
		err = l.Misses(func(m *Missed) bool { f.Misses = append(f.Misses, *m); return true })
		if err = errors.Join(failed, err); err != nil {
			t.Error(err)
		}
		return f
	}
	look := func(c cli.Cache) found {
		t.Helper()
		l, err := Look(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return all(l)
	}
	c := newCache(t)
	record(t, c, hits(1, "a", 5, time.Second, 0), miss(2, "b", time.Minute))
	openLedger(t, c).Close()
	for _, waiting := range [][]records.Line{
		nil,
		{hits(1, "a", 2, time.Second, 0), hits(3, "c", 1, 3*time.Second, 48*time.Hour)},
		{gone(1, records.Evicted), miss(1, "a", 2*time.Second)},
		slices.Repeat([]records.Line{hits(4, "d", 1, time.Millisecond, time.Hour)}, 10_000), // which is much, and is merged
	} {
		if len(waiting) > 0 {
			record(t, c, waiting...)
		}
		got, had := look(c), c.Disk.HasRecords()
		if len(waiting) < 10_000 && had != (len(waiting) > 0) {
			t.Errorf("of %d records some wait: %v", len(waiting), had)
		}
		l := openLedger(t, c)
		want := all(l)
		l.Close()
		for i := range min(len(want.Misses), len(got.Misses)) {
			if got.Misses[i].Was == "" { // of one that waits it is said only that it was removed
				want.Misses[i].Was = ""
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("with %d waiting (-merged +looked at):\n%s", len(waiting), d)
		}
	}
	if n := all(openLedger(t, c)).Totals; len(n) != 4 || n[0].App != "d" || n[0].Saved != 10_000_000 || n[2].App != "a" || n[2].Hits != 7 {
		t.Errorf("%+v", n)
	}
}
