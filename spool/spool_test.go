//go:build linux

package spool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

var bg = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) (*disk.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	s := disk.New(disk.Options{Dir: dir})
	t.Cleanup(func() { _ = s.Close() })
	return s, dir
}

func recipe(t testing.TB, code string) *key.Recipe {
	t.Helper()
	img, err := key.NewImage(key.OpenCLC, []byte(code))
	must(t, err)
	return &key.Recipe{
		Device: key.Device{API: "opencl", Platform: "p", Name: "d"}, Image: img,
		Options: key.BuildOptions{Compile: []string{"-DN=1"}, Variables: []key.Pair{{Name: "POCL_X", Value: "1"}}, Search: []string{"-I/x"}, Attributes: []key.Pair{{Name: "a", Value: "1"}}, Unkeyed: []key.Pair{{Name: "u", Value: "2"}}},
	}
}

func job(t testing.TB, code string, variants ...string) spool.Job {
	t.Helper()
	r := recipe(t, code)
	return spool.Job{
		Kind: spool.Capture, Recipe: r, Variants: variants, Cost: time.Second, Created: time.Unix(1e9, 5).UTC(),
		Environment: spool.Take([]string{"HOME=/h", "OCL_ICD_VENDORS=/v", "OPENCL_LAYERS=/l.so", "LD_PRELOAD=/p.so", "LD_LIBRARY_PATH=/a:/b"}, r, "/work"),
		Log:         "warning: x\n", HasLog: true,
	}
}

func add(t testing.TB, s *disk.Store, j spool.Job, want spool.Result) {
	t.Helper()
	if got, err := spool.Add(bg, s, j, nil); err != nil || got != want {
		t.Fatalf("add: %d, %v; want %d", got, err, want)
	}
}

func list(t testing.TB, s *disk.Store) []spool.Entry {
	t.Helper()
	jobs, err := spool.List(bg, s)
	must(t, err)
	return jobs
}

func only(t testing.TB, s *disk.Store) (spool.Entry, *spool.Job) {
	t.Helper()
	jobs := list(t, s)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs, want 1: %v", len(jobs), jobs)
	}
	j, err := spool.Read(bg, s, &jobs[0])
	must(t, err)
	return jobs[0], j
}

func TestAddAndRead(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	j := job(t, "kernel void k() {}", "k/64-1-1-goffs0-smallgrid", "k/auto-10-1-1")
	add(t, s, j, spool.Added)
	e, got := only(t, s)
	if got.Key() != j.Key() {
		t.Errorf("key %s", got.Key().Short())
	}
	if diff := cmp.Diff(j.Variants, got.Variants); diff != "" {
		t.Error(diff)
	}
	want := spool.Environment{Dir: "/work", Variables: []key.Pair{
		{Name: "LD_LIBRARY_PATH", Value: "/a:/b"}, {Name: "OCL_ICD_VENDORS", Value: "/v"}, {Name: "POCL_X", Value: "1"},
	}}
	if diff := cmp.Diff(want, got.Environment); diff != "" {
		t.Error(diff)
	}
	if got.Kind != j.Kind || got.Cost != j.Cost || !got.Created.Equal(j.Created) || got.Log != j.Log || !got.HasLog {
		t.Errorf("read: %+v", got)
	}
	if diff := cmp.Diff(j.Recipe.Options, got.Recipe.Options); diff != "" {
		t.Error(diff)
	}
	// It is there, for the user alone, and for people to read.
	path := filepath.Join(dir, ".meta/spool", want.Fingerprint(), j.Key().Sum.Dir()+".capture")
	info, err := os.Stat(path)
	must(t, err)
	b, err := os.ReadFile(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 || !strings.Contains(string(b), `"kind":"capture"`) || !strings.Contains(string(b), "kernel void k") {
		t.Errorf("mode %v, %q", info.Mode(), b)
	}
	must(t, spool.Remove(bg, s, &e))
	if left := list(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	long := time.Now().Add(-time.Hour) // one that is new is somebody's who is about to fill it
	must(t, os.Chtimes(filepath.Dir(path), long, long))
	_, err = s.GC(bg, disk.GCOptions{}, nil)
	must(t, err)
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the environment stays: %v", err)
	}
}

func TestLaunchesMerge(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for i := range 8 {
		all.Go(func() {
			other := disk.New(disk.Options{Dir: s.Status().Dir})
			defer other.Close()
			res, err := spool.Add(bg, other, job(t, "kernel void k() {}", "k/8-1-1", fmt.Sprintf("k/%d-1-1", 1+i%2)), nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if res == spool.Added {
				added++
			}
		})
	}
	all.Wait()
	_, j := only(t, s)
	if diff := cmp.Diff([]string{"k/1-1-1", "k/2-1-1", "k/8-1-1"}, j.Variants); diff != "" {
		t.Error(diff)
	}
	if added < 2 || added > 3 {
		t.Errorf("%d of 8 say that they added something; there are 2 files", added)
	}
	add(t, s, job(t, "kernel void k() {}", "k/8-1-1"), spool.Merged)
}

func TestLaunchesAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	var dropped int
	for i := range 100 {
		if _, err := spool.Add(bg, s, job(t, "kernel void k() {}", fmt.Sprintf("k/%d-1-1", i+1)), nil); err != nil {
			dropped++
		}
	}
	if _, j := only(t, s); len(j.Variants) != spool.MaxVariants || dropped != 100-spool.MaxVariants {
		t.Errorf("%d launches, %d dropped", len(j.Variants), dropped)
	}
}

// TestRemoveKeepsNewLaunches: one that was added while a worker built the others
// is not lost.
func TestRemoveKeepsNewLaunches(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	add(t, s, job(t, "kernel void k() {}", "k/1-1-1"), spool.Added)
	e, _ := only(t, s)
	add(t, s, job(t, "kernel void k() {}", "k/2-1-1"), spool.Added)
	must(t, spool.WriteTries(bg, s, &e, spool.Tries{Begun: 1}))
	must(t, spool.Remove(bg, s, &e))
	left, j := only(t, s)
	if diff := cmp.Diff([]string{"k/1-1-1", "k/2-1-1"}, j.Variants); diff != "" {
		t.Error(diff)
	}
	must(t, spool.Remove(bg, s, &left))
	if left := list(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOldestGo(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	rec := new(stats.Counters)
	for i := range spool.MaxJobs + 10 {
		if _, err := spool.Add(bg, s, job(t, fmt.Sprintf("kernel void k%d() {}", i), "k/1-1-1"), rec); err != nil {
			t.Fatal(err)
		}
	}
	jobs := list(t, s)
	if n := len(jobs); n != spool.MaxJobs {
		t.Errorf("%d jobs, at most %d are wanted", n, spool.MaxJobs)
	}
	for i := range 10 {
		if first := job(t, fmt.Sprintf("kernel void k%d() {}", i)); slices.ContainsFunc(jobs, func(e spool.Entry) bool { return e.Name == first.Name() }) {
			t.Errorf("job %d is there still", i)
		}
	}
	if n := rec.Snapshot()[stats.JobsDropped]; n != 10 {
		t.Errorf("%d are counted as dropped", n)
	}
}

func TestRefusedJobs(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	change := func(f func(*spool.Job)) spool.Job {
		j := job(t, "kernel void k() {}", "k/1-1-1")
		f(&j)
		return j
	}
	tests := map[string]spool.Job{
		"no kind":       change(func(j *spool.Job) { j.Kind = "" }),
		"no recipe":     change(func(j *spool.Job) { j.Recipe = nil }),
		"a path":        change(func(j *spool.Job) { j.Variants = []string{"../x"} }),
		"no launch":     change(func(j *spool.Job) { j.Variants = []string{""} }),
		"relative":      change(func(j *spool.Job) { j.Environment.Dir = "x" }),
		"variable":      change(func(j *spool.Job) { j.Environment.Variables[0].Name = "A=B" }),
		"order":         change(func(j *spool.Job) { slices.Reverse(j.Environment.Variables) }),
		"no text":       change(func(j *spool.Job) { j.Log = "\xff" }),
		"a long log":    change(func(j *spool.Job) { j.Log = strings.Repeat("x", 1<<20) }),
		"much code":     job(t, strings.Repeat("x", 17<<20), "k/1-1-1"),
		"negative cost": change(func(j *spool.Job) { j.Cost = -1 }),
	}
	for name, j := range tests {
		if _, err := spool.Add(bg, s, j, nil); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if left := list(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestHostileFiles: whatever lies in the spool, the good job is found, nothing
// blocks, and what is no job says so.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	good := job(t, "kernel void good() {}", "good/1-1-1")
	add(t, s, good, spool.Added)
	e, _ := only(t, s)
	env := filepath.Join(dir, ".meta/spool", e.Environment)
	b, err := os.ReadFile(filepath.Join(env, e.Name))
	must(t, err)
	name := func(i int) string { return filepath.Join(env, fmt.Sprintf("%032x.capture", i)) }
	must(t, os.WriteFile(name(1), b[:len(b)/2], 0o600))                                                // truncated
	must(t, os.WriteFile(name(2), nil, 0o600))                                                         // empty
	must(t, os.WriteFile(name(3), b, 0o600))                                                           // under the name of another
	must(t, syscall.Mkfifo(name(4), 0o600))                                                            // opening it would block
	must(t, os.Symlink(filepath.Join(env, e.Name), name(5)))                                           // a link
	must(t, os.Mkdir(name(6), 0o700))                                                                  // a directory
	must(t, os.WriteFile(name(7), nil, 0o600))                                                         // huge
	must(t, os.Truncate(name(7), 1<<40))                                                               //
	must(t, os.WriteFile(name(8), b, 0o622))                                                           // others may write it
	must(t, os.Chmod(name(8), 0o622))                                                                  //
	must(t, os.WriteFile(filepath.Join(env, "notes.txt"), b, 0o600))                                   // somebody's
	must(t, os.WriteFile(filepath.Join(env, e.Name+".0123456789abcdef"), []byte("good/9-9-9"), 0o600)) // a launch under another's name
	must(t, os.Symlink(env, filepath.Join(filepath.Dir(env), strings.Repeat("0", 32))))
	jobs := list(t, s)
	found := 0
	for i := range jobs {
		j, err := spool.Read(bg, s, &jobs[i])
		switch {
		case err == nil && jobs[i].Name == e.Name:
			found++
			if diff := cmp.Diff(good.Variants, j.Variants); diff != "" {
				t.Error(diff)
			}
		case err == nil:
			t.Errorf("%s was believed", jobs[i].Name)
		default:
			must(t, spool.Remove(bg, s, &jobs[i]))
		}
	}
	if found != 1 || len(jobs) != 8 {
		t.Errorf("the good job was found %d times, among %d", found, len(jobs))
	}
	e, _ = only(t, s)
	if e.Name != good.Name() {
		t.Error("another one is left")
	}
	for _, path := range []string{name(6), filepath.Join(env, "notes.txt")} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("what is not ours went: %v", err)
		}
	}
}

func TestTries(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	add(t, s, job(t, "kernel void k() {}", "k/1-1-1"), spool.Added)
	e, _ := only(t, s)
	for _, want := range []spool.Tries{{Begun: 1}, {Begun: 2, Failed: 1}} {
		must(t, spool.WriteTries(bg, s, &e, want))
		if got := spool.ReadTries(bg, s, &e); got.Begun != want.Begun || got.Failed != want.Failed {
			t.Errorf("%+v, want %+v", got, want)
		}
		if e, j := only(t, s); len(j.Variants) != 1 {
			t.Errorf("tries count as launches: %v, %v", e, j.Variants)
		}
	}
}

// TestAccountOfSpool: what jobs take is in the account, and gc and clear take
// the old ones off.
func TestAccountOfSpool(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	now := time.Now()
	s := disk.New(disk.Options{Dir: dir, Now: func() time.Time { return now }})
	defer s.Close()
	wantBytes := func(what string, want int64) {
		t.Helper()
		if got := s.Status().Bytes; got != want {
			t.Errorf("%s: the account says %d, want %d", what, got, want)
		}
	}
	add(t, s, job(t, "kernel void k() {}", "k/1-1-1"), spool.Added)
	add(t, s, job(t, "kernel void k() {}", "k/2-1-1"), spool.Added)
	wantBytes("added", 2*4096)
	r, err := s.GC(bg, disk.GCOptions{}, nil)
	if err != nil || r.Jobs != 0 || r.Bytes != 2*4096 {
		t.Errorf("gc of a new one: %+v, %v", r, err)
	}
	wantBytes("counted anew", 2*4096)
	now = now.Add(15 * 24 * time.Hour)
	r, err = s.GC(bg, disk.GCOptions{DryRun: true}, nil)
	if err != nil || r.Jobs != 1 || r.RemovedBytes != 2*4096 || len(list(t, s)) != 1 {
		t.Errorf("gc, dry: %+v, %v", r, err)
	}
	r, err = s.GC(bg, disk.GCOptions{}, nil)
	if err != nil || r.Jobs != 1 || len(list(t, s)) != 0 {
		t.Errorf("gc: %+v, %v", r, err)
	}
	wantBytes("collected", 0)
	add(t, s, job(t, "kernel void k() {}", "k/1-1-1"), spool.Added)
	if r, err := s.Clear(bg, nil, nil); err != nil || r.Jobs != 1 {
		t.Errorf("clear: %+v, %v", r, err)
	}
	wantBytes("cleared", 0)
}

func TestHeadersOfJobsStay(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root"), Now: func() time.Time { return now }})
	defer s.Close()
	content := []byte("#define A 1\n")
	d := digest(content)
	img, err := new(key.Image).Tracked([]key.Unit{{
		Kind: key.OpenCLC, Code: []byte("#include \"a.h\"\n"), Includes: []key.Include{{Name: `"a.h"`}},
		Files: []key.File{{Path: "/inc/a.h", Digest: d, Size: int64(len(content))}},
	}})
	must(t, err)
	j := job(t, "x", "k/1-1-1")
	j.Recipe.Image = img
	j.Headers = map[key.Digest][]byte{d: content}
	add(t, s, j, spool.Added)
	now = now.Add(48 * time.Hour)
	_, err = s.GC(bg, disk.GCOptions{}, nil)
	must(t, err)
	if got, err := s.GetBlob(bg, store.Headers, d); err != nil || string(got) != string(content) {
		t.Errorf("while the job waits: %q, %v", got, err)
	}
	e, _ := only(t, s)
	must(t, spool.Remove(bg, s, &e))
	_, err = s.GC(bg, disk.GCOptions{}, nil)
	must(t, err)
	if _, err := s.GetBlob(bg, store.Headers, d); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("when it is gone: %v", err)
	}
}

// A root may be shared with another system, whose jobs stay there.
func TestJobsOfAnotherSystem(t *testing.T) {
	t.Parallel()
	for dir, good := range map[string]bool{"/home/x": true, `C:\Users\x`: true, "home/x": false} {
		j := job(t, "x", "k/1-1-1")
		j.Environment.Dir = dir
		if _, err := j.Encode(); (err == nil) != good {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestOverTheLimitJobsAreDropped(t *testing.T) {
	t.Parallel()
	s := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root"), MaxSize: 4096})
	defer s.Close()
	var err error
	for i := range 5 {
		if _, e := spool.Add(bg, s, job(t, fmt.Sprint(i), "k/1-1-1"), nil); e != nil {
			err = e
		}
	}
	if !errors.Is(err, store.ErrDropped) {
		t.Errorf("%v", err)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{4 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, _ := open(b)
			code := strings.Repeat("x", size)
			jobs := make([]spool.Job, 200)
			for i := range jobs {
				jobs[i] = job(b, fmt.Sprint(i, code), "k/64-1-1-goffs0-smallgrid")
			}
			for b.Loop() {
				b.StopTimer()
				_, err := s.Clear(bg, nil, nil)
				must(b, err)
				add(b, s, jobs[199], spool.Added)
				b.StartTimer()
				add(b, s, jobs[0], spool.Added)
			}
		})
	}
	b.Run("merged", func(b *testing.B) {
		s, _ := open(b)
		j := job(b, "x", "k/64-1-1-goffs0-smallgrid")
		add(b, s, j, spool.Added)
		for b.Loop() {
			add(b, s, j, spool.Merged)
		}
	})
}

// TestRefused: what was refused is not added again, but for other launches, and for
// other environments; and not for ever.
func TestRefused(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root"), Now: func() time.Time { return now }})
	defer s.Close()
	code := "kernel void k() {}"
	add(t, s, job(t, code, "k/1-1-1", "k/2-1-1"), spool.Added)
	e, j := only(t, s)
	must(t, spool.Refuse(bg, s, &e, j, "the driver\ngave no code for it"))
	if left := list(t, s); len(left) != 0 {
		t.Fatalf("left: %v", left)
	}
	add(t, s, job(t, code, "k/2-1-1"), spool.Refused)
	add(t, s, job(t, code), spool.Refused)
	add(t, s, job(t, code, "k/1-1-1", "k/3-1-1"), spool.Added)
	e, j = only(t, s)
	if diff := cmp.Diff([]string{"k/1-1-1", "k/3-1-1"}, j.Variants); diff != "" {
		t.Error(diff)
	}
	// One launch is done, the other one cannot be.
	must(t, spool.Left(bg, s, &e, j, []string{"k/3-1-1"}))
	for _, v := range []string{"k/2-1-1", "k/3-1-1"} {
		more := job(t, code, v)
		more.Stored = true
		add(t, s, more, spool.Refused)
	}
	add(t, s, job(t, code, "k/3-1-1"), spool.Added) // what it was done without is gone
	e, j = only(t, s)
	must(t, spool.Left(bg, s, &e, j, []string{"k/3-1-1"}))
	add(t, s, job(t, code, "k/1-1-1"), spool.Added) // its artifact may have been evicted
	e, j = only(t, s)
	must(t, spool.Left(bg, s, &e, j, nil))
	other := job(t, code, "k/1-1-1")
	other.Environment.Variables[0].Value = "/other"
	add(t, s, other, spool.Added)
	e, j = only(t, s)
	must(t, spool.Left(bg, s, &e, j, nil))
	add(t, s, other, spool.Added)
	e, _ = only(t, s)
	must(t, spool.Remove(bg, s, &e))

	now = now.Add(15 * 24 * time.Hour)
	if _, err := s.GC(bg, disk.GCOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	add(t, s, job(t, code, "k/2-1-1"), spool.Added)
}

// TestRefusedForTwoWeeks: also where nobody calls GC.
func TestRefusedForTwoWeeks(t *testing.T) {
	t.Parallel()
	s, root := open(t)
	j := job(t, "kernel void k() {}", "k/1-1-1")
	add(t, s, j, spool.Added)
	e, read := only(t, s)
	must(t, spool.Refuse(bg, s, &e, read, "the driver gave no code for it"))
	files, err := filepath.Glob(filepath.Join(root, ".meta", "spool", "*", "*.refused"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, tt := range []struct {
		days int
		want spool.Result
	}{{13, spool.Refused}, {15, spool.Added}} {
		at := time.Now().AddDate(0, 0, -tt.days)
		must(t, os.Chtimes(files[0], at, at))
		add(t, s, j, tt.want)
	}
}

// TestDirectoryForALaunch: what has the name of a launch and is no file brings no job
// back, which would be done for ever.
func TestDirectoryForALaunch(t *testing.T) {
	t.Parallel()
	s, root := open(t)
	add(t, s, job(t, "kernel void k() {}", "k/1-1-1"), spool.Added)
	e, _ := only(t, s)
	must(t, os.Mkdir(filepath.Join(root, ".meta", "spool", e.Environment, e.Name+".0123456789abcdef"), 0o700))
	must(t, spool.Remove(bg, s, &e))
	if left := list(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestUploadsHaveBoundsOfTheirOwn: entries that wait to be uploaded take no place of what is to be
// built.
func TestUploadsHaveBoundsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	add(t, s, job(t, "kernel void first() {}", "first/1-1-1"), spool.Added)
	for i := range spool.MaxJobs + 100 {
		add(t, s, spool.Job{Kind: spool.Upload, Recipe: recipe(t, fmt.Sprintf("kernel void k%d() {}", i))}, spool.Added)
	}
	add(t, s, job(t, "kernel void last() {}", "last/1-1-1"), spool.Added)
	if n := len(list(t, s)); n != spool.MaxJobs+102 {
		t.Errorf("%d jobs", n)
	}
	add(t, s, spool.Job{Kind: spool.Upload, Recipe: recipe(t, "kernel void k7() {}")}, spool.Merged)
}
