package kernstash

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// expand is a preprocessor of another make than package deps: it knows lines
// like #include "a.h" alone, and puts the file there.
func expand(src, dir string, dirs []string) string {
	var out strings.Builder
	for line := range strings.Lines(src) {
		name, isInclude := strings.CutPrefix(strings.TrimSpace(line), "#include ")
		if !isInclude {
			out.WriteString(line)
			continue
		}
		where := dirs
		if name[0] == '"' && dir != "" {
			where = append([]string{dir}, dirs...)
		}
		out.WriteString("[" + name)
		for _, d := range where {
			path := filepath.Join(d, name[1:len(name)-1])
			if b, err := os.ReadFile(path); err == nil {
				out.WriteString(" " + expand(string(b), filepath.Dir(path), dirs))
				break
			}
		}
		out.WriteString("]")
	}
	return out.String()
}

func includeDirs(options string) (dirs []string) {
	for _, w := range key.Tokens(options) {
		if dir, ok := strings.CutPrefix(w, "-I"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// newTree writes files below a new directory.
func newTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		putFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func putFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, content)
}

func removeFile(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// newReader is a fake that reads header files.
func newReader(t testing.TB, system ...string) *fakeRuntime {
	f := newFake(t)
	f.search = []*deps.Search{{System: system}}
	return f
}

// deep is a source that includes a.h, which includes b.h, which includes c.h.
const deep = "#include \"a.h\"\nkernel void k() {}\n"

func deepTree(t testing.TB) string {
	return newTree(t, map[string]string{
		"late/a.h": "a\n#include \"b.h\"\n", "late/b.h": "b\n#include <c.h>\n", "late/c.h": "c\n", "late/other.h": "o\n",
		"early/unused.h": "u\n",
	})
}

func deepRequest(t testing.TB, dir string) Request {
	return Request{
		Image: image(t, deep), CompileOptions: "-DN=4 -I" + dir + "/early -I" + dir + "/late",
		Constants: []key.SpecConstant{key.Uint32(7, 1)},
	}
}

// code asks for a program and returns what it was compiled of.
func code(t testing.TB, x *fakeContext, r Request) string {
	t.Helper()
	p, err := x.Program(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	native, err := p.Native(p.live().First())
	if err != nil {
		t.Fatal(err)
	}
	return native.code
}

// once asks for a program in a cache of its own, as a new process would.
func once(t testing.TB, root string, f *fakeRuntime, r Request) (string, stats.Snapshot) {
	t.Helper()
	c := openCache(t, root)
	got := code(t, fakeContextOn(c, f), r)
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return got, c.Stats()
}

// Whatever a program was built from may change: never is a stale one served, and
// the miss names what changed. What changes nothing is a hit.
func TestNeverStale(t *testing.T) {
	t.Parallel()
	write := func(name, content string) func(*testing.T, string, *fakeRuntime, *Request) {
		return func(t *testing.T, dir string, _ *fakeRuntime, _ *Request) {
			putFile(t, filepath.Join(dir, name), content)
		}
	}
	tests := []struct {
		name   string
		change func(t *testing.T, dir string, f *fakeRuntime, r *Request)
		hit    bool
		want   reason.Reason
		text   string // DIR for the directory
	}{
		{"nothing", func(*testing.T, string, *fakeRuntime, *Request) {}, true, 0, ""},
		{"touched", func(t *testing.T, dir string, _ *fakeRuntime, _ *Request) {
			at := time.Now().Add(-time.Hour)
			if err := os.Chtimes(dir+"/late/c.h", at, at); err != nil {
				t.Fatal(err)
			}
		}, true, 0, ""},
		{"written again", write("late/b.h", "b\n#include <c.h>\n"), true, 0, ""},
		{"a header that nobody includes", write("late/other.h", "O\n"), true, 0, ""},
		{"three levels deep", write("late/c.h", "C\n"), false, reason.NearestHeader, `header "c.h" (DIR/late/c.h) differs`},
		{"appears earlier on the path", write("early/c.h", "early\n"), false, reason.NearestHeader, `include of "c.h" leads to DIR/early/c.h, not DIR/late/c.h`},
		{"disappears", func(t *testing.T, dir string, _ *fakeRuntime, _ *Request) {
			removeFile(t, dir+"/late/c.h")
		}, false, reason.NearestHeader, `header "c.h" (DIR/late/c.h) is gone`},
		{"the first one disappears", func(t *testing.T, dir string, _ *fakeRuntime, _ *Request) {
			removeFile(t, dir+"/late/a.h")
		}, false, reason.NearestHeader, `header "a.h" (DIR/late/a.h) is gone`},
		{"the other way round", func(_ *testing.T, dir string, _ *fakeRuntime, r *Request) {
			r.CompileOptions = "-DN=4 -I" + dir + "/late -I" + dir + "/early"
		}, true, 0, ""},
		{"another directory of equal names", func(t *testing.T, dir string, _ *fakeRuntime, r *Request) {
			putFile(t, dir+"/third/a.h", "other a\n")
			r.CompileOptions = "-DN=4 -I" + dir + "/third -I" + dir + "/late"
		}, false, reason.NearestHeader, `include of "a.h" leads to DIR/third/a.h, not DIR/late/a.h`},
		{"the same tree elsewhere", func(t *testing.T, dir string, _ *fakeRuntime, r *Request) {
			r.CompileOptions = deepRequest(t, deepTree(t)).CompileOptions
		}, true, 0, ""},
		{"the source", func(t *testing.T, _ string, _ *fakeRuntime, r *Request) {
			r.Image = image(t, deep+"// and more\n")
		}, false, reason.NearestImage, "code differs from line 3 on"},
		{"an option", func(_ *testing.T, _ string, _ *fakeRuntime, r *Request) {
			r.CompileOptions = strings.Replace(r.CompileOptions, "N=4", "N=8", 1)
		}, false, reason.NearestOptions, `option "-DN=8" was "-DN=4"`},
		{"a constant", func(_ *testing.T, _ string, _ *fakeRuntime, r *Request) {
			r.Constants = []key.SpecConstant{key.Uint32(7, 2)}
		}, false, reason.NearestConstants, "constant 7: 0x02 was 0x01"},
		{"the driver", func(_ *testing.T, _ string, f *fakeRuntime, _ *Request) {
			f.devices[0].Driver = "2"
		}, false, reason.NearestDriver, `driver "2" was "1"`},
		{"a library of the compiler", func(_ *testing.T, _ string, f *fakeRuntime, _ *Request) {
			f.devices[0].Compiler = []key.Pair{{Name: "libc.so", Value: "2"}}
		}, false, reason.NearestCompiler, `compiler libc.so="2" is new`},
		{"a variable", func(_ *testing.T, _ string, f *fakeRuntime, _ *Request) {
			f.variables = []key.Pair{{Name: "POCL_X", Value: "1"}}
		}, false, reason.NearestVariable, `variable POCL_X="1" is new`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, dir := newRoot(t), deepTree(t)
			first := newReader(t)
			_, s := once(t, root, first, deepRequest(t, dir))
			first.wantBuilds(1)
			if s[stats.DiskPuts] != 1 || s[stats.HeadersScanned] != 1 {
				t.Fatalf("first: %v", s)
			}
			f, r := newReader(t), deepRequest(t, dir)
			tt.change(t, dir, f, &r)
			var explained string
			if !tt.hit {
				explained = nearest(t, root, f, r)
			}
			got, s := once(t, root, f, r)
			if want := expand(string(r.Image.Units()[0].Code), "", includeDirs(r.CompileOptions)); got != want {
				t.Errorf("stale: %q, want %q", got, want)
			}
			if tt.hit {
				f.wantBuilds(0)
				if s[stats.DiskHits] != 1 {
					t.Errorf("counted %v", s)
				}
				return
			}
			f.wantBuilds(1)
			if s[stats.Of(tt.want)] != 1 {
				t.Errorf("counted %v, want %v", s, tt.want)
			}
			if want := strings.ReplaceAll(tt.text, "DIR", dir); explained != want {
				t.Errorf("explained as %q, want %q", explained, want)
			}
			f = newReader(t)
			tt.change(t, dir, f, &r)
			if _, s := once(t, root, f, r); s[stats.Builds] != 0 {
				t.Error("what it is now is not stored")
			}
		})
	}
}

// nearest explains the miss of a request.
func nearest(t *testing.T, root string, f *fakeRuntime, r Request) string {
	t.Helper()
	c := openCache(t, newRoot(t))
	x := fakeContextOn(c, f)
	tx, err := x.session.Begin(t.Context(), r.engine())
	if err != nil || !tx.Group(0).Uncacheable().None() {
		t.Fatal(err)
	}
	rec := tx.Group(0).Job().Recipe
	d := disk.New(disk.Options{Dir: root})
	near, err := d.Nearest(t.Context(), rec, key.Digest{})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return near.Text
}

// An image means the files as they were when it was first asked for; one that is
// made later means what they are then. When they are again what they were, so
// is the program.
func TestImagesAreSnapshotsOfHeaders(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), deepTree(t)
	f := newReader(t)
	c := openCache(t, root)
	x := fakeContextOn(c, f)
	request := func() Request { return deepRequest(t, dir) }
	a := request()
	before := code(t, x, a)
	putFile(t, dir+"/late/c.h", "changed\n")
	b := request()
	after := code(t, x, b)
	if !strings.Contains(before, "c\n") || !strings.Contains(after, "changed\n") {
		t.Errorf("before %q, after %q", before, after)
	}
	if again := code(t, x, a); again != before {
		t.Errorf("the older image is now %q", again)
	}
	if again := code(t, x, b); again != after {
		t.Errorf("the newer image is now %q", again)
	}
	f.wantBuilds(2)
	putFile(t, dir+"/late/c.h", "c\n")
	if again := code(t, x, request()); again != before {
		t.Errorf("back again, it is %q", again)
	}
	f.wantBuilds(2)
	if p, _ := x.Len(); p != 2 {
		t.Errorf("%d programs, want 2: equal ones are shared", p)
	}
	flush(t, c)
	x.Clear()
	if again := code(t, x, request()); again != before {
		t.Errorf("from disk it is %q", again)
	}
	putFile(t, dir+"/late/c.h", "changed\n")
	if again := code(t, x, request()); again != after {
		t.Errorf("changed again, it is %q", again)
	}
	f.wantBuilds(2)
}

// A header that is edited during the build: nobody knows what was compiled, so it
// is not stored, and no other image gets it.
func TestHeadersEditedDuringTheBuild(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		root, dir := newRoot(t), deepTree(t)
		f := newReader(t)
		c := openCache(t, root)
		x := fakeContextOn(c, f)
		f.build = func(context.Context, Job) error {
			putFile(t, dir+"/late/c.h", "edited\n")
			f.build = nil
			if fails {
				return &BuildError{Code: -11, Log: "c\n"}
			}
			return nil
		}
		a := deepRequest(t, dir)
		p, err := x.Program(t.Context(), a)
		var diagnostic *BuildError
		switch {
		case fails && !errors.As(err, &diagnostic):
			t.Fatalf("%v, want the compiler's error", err)
		case !fails && err != nil:
			t.Fatal(err)
		case !fails:
			if want := "not cacheable: headers changed during the build (" + dir + "/late/c.h)"; p.UncacheableReason() != want {
				t.Errorf("against it: %q, want %q", p.UncacheableReason(), want)
			}
			if !p.Key(0).IsZero() {
				t.Error("it has a key")
			}
			p.Release()
		}
		flush(t, c)
		if s := c.Stats(); s[stats.Of(reason.NotCacheableChanged)] != 1 || s[stats.DiskPuts] != 0 {
			t.Errorf("counted %v", s)
		}
		// The file is what it was: an image of now must not get that program, nor
		// that error.
		putFile(t, dir+"/late/c.h", "c\n")
		other := deepRequest(t, dir)
		if got := code(t, x, other); !strings.Contains(got, "c\n") {
			t.Errorf("another image got %q", got)
		}
		f.wantBuilds(2)
		_, _ = x.Program(t.Context(), a)
		code(t, x, other)
		f.wantBuilds(2)
		flush(t, c)
		if s := c.Stats(); s[stats.DiskPuts] != 1 {
			t.Errorf("counted %v", s)
		}
		x.Clear()
		code(t, x, deepRequest(t, dir))
		f.wantBuilds(2)
	}
}

// A program that was built before is built again in this process when its files
// have changed: the older image gets one to itself, and no entry is written.
func TestOldImageBuiltAgain(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), deepTree(t)
	f := newReader(t)
	c := openCache(t, root)
	x := fakeContextOn(c, f)
	a := deepRequest(t, dir)
	code(t, x, a)
	flush(t, c)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	putFile(t, dir+"/late/c.h", "edited\n")
	x.Clear()
	code(t, x, a)
	flush(t, c)
	f.wantBuilds(2)
	if s := c.Stats(); s[stats.Of(reason.NotCacheableChanged)] != 1 || s[stats.DiskPuts] != 1 {
		t.Errorf("counted %v", s)
	}
}

// Equal images of one content share a live program, as do a thousand goroutines.
func TestEqualHeadersShareOneProgram(t *testing.T) {
	t.Parallel()
	dir := deepTree(t)
	f := newReader(t)
	f.took = 20 * time.Millisecond
	c := openCache(t, newRoot(t))
	x := fakeContextOn(c, f)
	shared := deepRequest(t, dir)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			r := shared
			if i%4 == 0 {
				r = deepRequest(t, dir)
			}
			use(t, x, r)
		})
	}
	all.Wait()
	f.wantBuilds(1)
	if p, _ := x.Len(); p != 1 {
		t.Errorf("%d programs", p)
	}
}

// Many equal images at once, which nobody scanned before, are scanned once; the
// others look whether that still holds.
func TestEqualImagesAreScannedOnce(t *testing.T) {
	t.Parallel()
	dir := deepTree(t)
	putFile(t, dir+"/late/c.h", strings.Repeat("// a scan that takes a while\n", 1<<17))
	c := openCache(t, newRoot(t))
	x := fakeContextOn(c, newReader(t))
	var all sync.WaitGroup
	for range 100 {
		r := deepRequest(t, dir)
		all.Go(func() { use(t, x, r) })
	}
	all.Wait()
	if s := c.Stats(); s[stats.HeadersScanned] != 1 || s[stats.HeadersChecked] != 99 {
		t.Errorf("%d scans and %d looks, want 1 and 99", s[stats.HeadersScanned], s[stats.HeadersChecked])
	}
}

// Devices that look for headers in other places have programs of their own, and
// one request for all of them gets each the right one.
func TestHeadersOfSeveralDevices(t *testing.T) {
	t.Parallel()
	dir := newTree(t, map[string]string{"one/v.h": "one\n", "two/v.h": "two\n"})
	f := newFake(t)
	d := f.devices[0]
	f.devices = []key.Device{d, d, d}
	f.devices[2].Name = "M"
	f.search = []*deps.Search{{System: []string{dir + "/one"}}, {System: []string{dir + "/one"}}, {System: []string{dir + "/two"}}}
	c := openCache(t, newRoot(t))
	x := fakeContextOn(c, f)
	r := Request{Image: image(t, "#include <v.h>\n")}
	p, err := x.Program(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	for device, want := range []string{"one", "one", "two"} {
		native, err := p.Native(device)
		if err != nil || !strings.Contains(native.code, want) {
			t.Errorf("device %d: %v, %v", device, native, err)
		}
	}
	f.wantBuilds(2)
	// A subset finds the units that are there.
	for device, want := range []string{"one", "one", "two"} {
		r.Devices = []int{device}
		if got := code(t, x, r); !strings.Contains(got, want) {
			t.Errorf("device %d alone: %q", device, got)
		}
	}
	f.wantBuilds(2)
}

// What is wrong with a manifest or a header costs a scan, or the chance to build
// again, and nothing else.
func TestDamagedManifestsAndHeaders(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, root, shelf string, f func(path string)) {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(root, ".meta", shelf, "*", "*"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %q, %v", shelf, paths, err)
		}
		for _, p := range paths {
			f(p)
		}
	}
	tests := []struct {
		name    string
		shelf   string
		damage  func(path string)
		scanned int64
		corrupt int64
	}{
		{"a manifest is cut short", "manifests", func(p string) { _ = os.Truncate(p, 50) }, 1, 1},
		{"a manifest is empty", "manifests", func(p string) { _ = os.Truncate(p, 0) }, 1, 1},
		{"a manifest has another byte", "manifests", func(p string) {
			b, _ := os.ReadFile(p)
			b[len(b)/2] ^= 1
			_ = os.WriteFile(p, b, 0o600)
		}, 1, 1},
		{"a manifest is gone", "manifests", func(p string) { _ = os.Remove(p) }, 1, 0},
		{"a manifest is a directory", "manifests", func(p string) { _ = os.Remove(p); _ = os.Mkdir(p, 0o700) }, 1, 0},
		{"others can write a manifest", "manifests", func(p string) { _ = os.Chmod(p, 0o666) }, 1, 0},
		{"headers are empty", "headers", func(p string) { _ = os.Truncate(p, 0) }, 0, 0},
		{"headers are gone", "headers", func(p string) { _ = os.Remove(p) }, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, dir := newRoot(t), deepTree(t)
			once(t, root, newReader(t), deepRequest(t, dir))
			each(t, root, tt.shelf, tt.damage)
			f := newReader(t)
			_, s := once(t, root, f, deepRequest(t, dir))
			f.wantBuilds(0)
			if s[stats.DiskHits] != 1 || s[stats.HeadersScanned] != tt.scanned || s[stats.Corrupt] != tt.corrupt {
				t.Errorf("counted %v", s)
			}
			if tt.name == "a manifest is a directory" {
				return
			}
			_, s = once(t, root, newReader(t), deepRequest(t, dir))
			if s[stats.HeadersChecked] != 1 || s[stats.HeadersScanned] != 0 {
				t.Errorf("not mended: %v", s)
			}
		})
	}
}

// Contents are stored with the entry, once, also where the manifest was there and
// they were not, and where code is captured after a launch.
func TestContentsOfHeadersAreStored(t *testing.T) {
	t.Parallel()
	for _, deferred := range []bool{false, true} {
		root, dir := newRoot(t), deepTree(t)
		for range 2 {
			f := newReader(t)
			f.deferred = deferred
			c := openCache(t, root)
			x := fakeContextOn(c, f)
			p, err := x.Program(t.Context(), deepRequest(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			p.Launched(0, "8-1-1")
			p.Release()
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			f.wantBuilds(1)
			d := disk.New(disk.Options{Dir: root})
			for info, err := range d.List(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				rec, err := d.Recipe(t.Context(), info.Key)
				if err != nil {
					t.Fatal(err)
				}
				files := rec.Image.Units()[0].Files
				if len(files) != 3 {
					t.Errorf("%d files", len(files))
				}
				for _, file := range files {
					want, _ := os.ReadFile(file.Path)
					if b, err := d.GetBlob(t.Context(), store.Headers, file.Digest); err != nil || string(b) != string(want) {
						t.Errorf("deferred %v: %s: %q, %v", deferred, file.Path, b, err)
					}
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			// All but the manifests goes.
			for _, bin := range entries(t, root) {
				removeFile(t, bin)
			}
			if err := os.RemoveAll(filepath.Join(root, ".meta", "headers")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What speaks against tracking makes the program its image's own, as ever.
// The contents of header files are written while the compiler compiles: nothing but the
// artifact is left for when it is through.
func TestHeadersAreKeptDuringTheBuild(t *testing.T) {
	t.Parallel()
	if runtime.GOMAXPROCS(0) == 1 {
		return // then nobody writes beside it
	}
	root, dir := newRoot(t), deepTree(t)
	f := newReader(t)
	f.build = func(ctx context.Context, job Job) error {
		d := disk.New(disk.Options{Dir: root})
		defer d.Close()
		for _, file := range job.Recipe.Image.Units()[0].Files {
			for until := time.Now().Add(3 * time.Minute); !d.HasBlob(store.Headers, file.Digest, file.Size); time.Sleep(time.Millisecond) {
				if time.Now().After(until) {
					t.Errorf("%s is not kept", file.Path)
					return nil
				}
			}
		}
		return nil
	}
	if _, s := once(t, root, f, deepRequest(t, dir)); s[stats.DiskPuts] != 1 {
		t.Errorf("counted %v", s)
	}
	f.build = nil
	if _, s := once(t, root, f, deepRequest(t, dir)); s[stats.DiskHits] != 1 {
		t.Errorf("counted %v", s)
	}
	f.wantBuilds(1)
}

func TestHeadersThatCannotBeKnown(t *testing.T) {
	t.Parallel()
	dir := deepTree(t)
	tests := []struct {
		name   string
		r      func() Request
		change func(*fakeRuntime, *Options)
		want   reason.Reason
	}{
		{"time in a header", func() Request {
			putFile(t, dir+"/late/time.h", "__TIME__\n")
			return Request{Image: image(t, "#include <time.h>\n"), CompileOptions: "-I" + dir + "/late"}
		}, nil, reason.NotCacheableTime},
		{
			"the runtime does not say", func() Request { return deepRequest(t, dir) },
			func(f *fakeRuntime, _ *Options) { f.search[0] = nil }, reason.NotCacheableHeaders,
		},
		{
			"options in a variable", func() Request { return deepRequest(t, dir) },
			func(f *fakeRuntime, _ *Options) { f.variables = []key.Pair{{Name: "X_FLAGS", Value: "1 -DA"}} }, reason.NotCacheableHeaders,
		},
		{"directories in link options", func() Request {
			r := deepRequest(t, dir)
			r.LinkOptions = "-I" + dir
			return r
		}, nil, reason.NotCacheableHeaders},
		{
			"the cache is off", func() Request { return deepRequest(t, dir) },
			func(_ *fakeRuntime, o *Options) { o.Flags = map[string]string{"disable": "1"} }, reason.NotCacheableHeaders,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newReader(t)
			c := openCache(t, newRoot(t), func(o *Options) {
				if tt.change != nil {
					tt.change(f, o)
				}
			})
			x := fakeContextOn(c, f)
			a := tt.r()
			use(t, x, a)
			if tt.name != "the cache is off" { // nothing is retained there
				use(t, x, a)
				f.wantBuilds(1)
			}
			use(t, x, tt.r())
			if s := c.Stats(); s[stats.Of(tt.want)] != s[stats.Builds] || s[stats.DiskPuts] != 0 {
				t.Errorf("counted %v", s)
			}
		})
	}
}

// With no disk tier images of equal files share a program all the same.
func TestHeadersWithoutADisk(t *testing.T) {
	t.Parallel()
	dir := deepTree(t)
	f := newReader(t)
	c := openCache(t, "")
	x := fakeContextOn(c, f)
	use(t, x, deepRequest(t, dir))
	use(t, x, deepRequest(t, dir))
	f.wantBuilds(1)
	putFile(t, dir+"/late/c.h", "edited\n")
	use(t, x, deepRequest(t, dir))
	f.wantBuilds(2)
	if s := c.Stats(); s[stats.HeadersScanned] != 2 || s[stats.HeadersChecked] != 1 {
		t.Errorf("counted %v", s)
	}
}

// A hit of an image that reads headers allocates nothing, and looks at no file.
func TestHitsOfHeadersDoNotAllocate(t *testing.T) {
	dir := deepTree(t)
	c := openCache(t, "")
	x := fakeContextOn(c, newReader(t))
	r := deepRequest(t, dir)
	use(t, x, r)
	q, err := x.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, hit := range map[string]func() (*fakeHandle, error){
		"by fields": func() (*fakeHandle, error) { return x.Program(ctx, r) },
		"prepared":  func() (*fakeHandle, error) { return q.Program(ctx) },
	} {
		n := testing.AllocsPerRun(1000, func() {
			p, err := hit()
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		})
		if n != 0 && !raceEnabled {
			t.Errorf("%s: %v allocations a hit", name, n)
		}
	}
	if s := c.Stats(); s[stats.Builds] != 1 || s[stats.MemoryMisses] != 1 {
		t.Errorf("counted %v", s)
	}
}

// Who gives up while files are looked at does not wait for them.
func TestResolvingCanBeCancelled(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *Cache) {
		f := newReader(t)
		wait := make(chan struct{})
		f.identifying = func() { <-wait }
		x := fakeContextOn(c, f)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait() // the request waits
			cancel()
		}()
		if _, err := x.Program(ctx, deepRequest(t, deepTree(t))); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		close(wait)
		use(t, x, deepRequest(t, deepTree(t)))
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Program(t.Context(), deepRequest(t, deepTree(t))); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// The root goes while it is in use.
func TestRootDeletedBesideHeaders(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), deepTree(t)
	f := newReader(t)
	c := openCache(t, root)
	x := fakeContextOn(c, f)
	for i := range 3 {
		use(t, x, deepRequest(t, dir))
		flush(t, c)
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		x.Clear()
		f.wantBuilds(i + 1)
	}
	use(t, x, deepRequest(t, dir))
	flush(t, c)
	f = newReader(t)
	if _, s := once(t, root, f, deepRequest(t, dir)); s[stats.DiskHits] != 1 {
		t.Errorf("counted %v", s)
	}
}

// Where code depends on paths, the same files elsewhere are another program, and
// the directories to search are in the key, in their place.
func TestHeadersWhosePathsCount(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	files := map[string]string{"inc/a.h": "__FILE__\n"}
	request := func(dir string) Request {
		return Request{Image: image(t, "#include \"a.h\"\n"), CompileOptions: "-DN=4 -I" + dir + "/inc -O2"}
	}
	dir, other := newTree(t, files), newTree(t, files)
	for _, step := range []struct {
		dir    string
		builds int
	}{{dir, 1}, {dir, 0}, {other, 1}, {other, 0}} {
		f := newReader(t)
		_, s := once(t, root, f, request(step.dir))
		f.wantBuilds(step.builds)
		if step.builds == 0 && s[stats.DiskHits] != 1 {
			t.Errorf("counted %v", s)
		}
	}
	x := fakeContextOn(openCache(t, root), newReader(t))
	for _, with := range []string{"__FILE__\n", "no path\n"} {
		putFile(t, dir+"/inc/a.h", with)
		r := request(dir)
		tx, err := x.session.Begin(t.Context(), r.engine())
		if err != nil || !tx.Group(0).Uncacheable().None() {
			t.Fatal(err)
		}
		rec := tx.Group(0).Job().Recipe
		compile, search := "-DN=4 -I"+dir+"/inc -O2", ""
		if with == "no path\n" {
			compile, search = "-DN=4 -O2", "-I"+dir+"/inc"
		}
		if got := strings.Join(rec.Options.Compile, " "); got != compile || strings.Join(rec.Options.Search, " ") != search {
			t.Errorf("%q: compile %q, search %q", with, got, rec.Options.Search)
		}
	}
}

// What a request means is remembered for contexts alike, and not for another
// whose compiler looks elsewhere.
func TestImagesInSeveralContexts(t *testing.T) {
	t.Parallel()
	dir := newTree(t, map[string]string{"one/v.h": "one\n", "two/v.h": "two\n"})
	c := openCache(t, "")
	r := Request{Image: image(t, "#include <v.h>\n")}
	for _, place := range []string{"one", "two", "one"} {
		if got := code(t, fakeContextOn(c, newReader(t, dir+"/"+place)), r); !strings.Contains(got, place) {
			t.Errorf("looking in %s: %q", place, got)
		}
	}
	if s := c.Stats(); s[stats.HeadersScanned] != 2 {
		t.Errorf("counted %v", s)
	}
}

// However many other programs there are, the changed header is named; and an
// image keeps no contents once it is built.
func TestChangedHeaderInACrowd(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), deepTree(t)
	c := openCache(t, root)
	x := fakeContextOn(c, newReader(t))
	for i := range 40 {
		r := deepRequest(t, dir)
		r.Image = image(t, "#include \"a.h\"\n"+strings.Repeat(string(rune('A'+i)), 60))
		use(t, x, r)
	}
	a := deepRequest(t, dir)
	use(t, x, a)
	flush(t, c)
	putFile(t, dir+"/late/c.h", "C\n")
	b := deepRequest(t, dir)
	use(t, x, b)
	flush(t, c)
	if s := c.Stats(); s[stats.Of(reason.NearestHeader)] != 1 {
		t.Errorf("counted %v", s)
	}
	putFile(t, dir+"/late/c.h", "c\n")
	x.Clear()
	back := deepRequest(t, dir) // scanned, and found on disk
	if use(t, x, back) != Disk {
		t.Error("it was built again")
	}
	for _, r := range []Request{a, b, back} {
		own := r.engine()
		id, err := x.session.ID(&own)
		if err != nil {
			t.Fatal(err)
		}
		if res := x.session.Resolved(&id, own.Image); res == nil || res.Holds() {
			t.Error("contents are kept in memory")
		}
	}
}
