package kernstash

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// run uses the requests in a cache of its own on root, as a new process would.
func run(t *testing.T, root string, f *fakeRuntime, change func(*Options), requests ...Request) stats.Snapshot {
	t.Helper()
	if change == nil {
		change = func(*Options) {}
	}
	c := openCache(t, root, change)
	x := fakeContextOn(c, f)
	for _, r := range requests {
		use(t, x, r)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return c.Stats()
}

// DPC++ 15 and the seed's use-case #3: the second run of an application
// creates its programs from binary, none is built.
func TestSecondRunBuildsNothing(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	requests := []Request{
		{Image: image(t, src(1))},
		{Image: image(t, src(2)), CompileOptions: "-DN=4"},
		{Image: image(t, src(2)), Constants: []key.SpecConstant{key.Uint32(1, 2)}},
	}
	first := newFake(t)
	s := run(t, root, first, nil, requests...)
	first.wantBuilds(3)
	if s[stats.DiskMisses] != 3 || s[stats.Of(reason.MissAbsent)] != 3 || s[stats.DiskPuts] != 3 {
		t.Errorf("first run: %v", s)
	}
	second := newFake(t)
	s = run(t, root, second, nil, requests...)
	second.wantBuilds(0)
	if s[stats.DiskHits] != 3 || s[stats.DiskMisses] != 0 || s[stats.SavedTime] == 0 {
		t.Errorf("second run: %v", s)
	}
}

// DPC++ 12 is inverted on purpose: programs built from source are what most
// applications build, and are stored. What cannot be known is not, each with
// its reason, and is built every time.
func TestNotCacheable(t *testing.T) {
	t.Parallel()
	withHeader, err := NewImage(key.OpenCLC, []byte("#include <a.h>\n"), key.Header{Name: "a.h", Content: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		r      Request
		change func(*Options)
		fake   func(*fakeRuntime)
		want   reason.Reason
		stored bool
	}{
		{name: "plain source", r: Request{Image: image(t, src(1))}, stored: true},
		{name: "a header in memory", r: Request{Image: withHeader}, stored: true},
		{name: "a header file", r: Request{Image: image(t, "#include <a.h>")}, want: reason.NotCacheableHeaders},
		{name: "a header in memory and a search path", r: Request{Image: withHeader, CompileOptions: "-I."}, want: reason.NotCacheableHeaders},
		{name: "time", r: Request{Image: image(t, "char *s = __TIME__;")}, want: reason.NotCacheableTime},
		{name: "incbin", r: Request{Image: image(t, "asm(\".incbin \\\"x\\\"\");")}, want: reason.NotCacheableFile},
		{name: "side effects", r: Request{Image: image(t, src(1)), CompileOptions: "-save-temps"}, want: reason.NotCacheableOptions},
		{
			name: "smaller than the window", r: Request{Image: image(t, src(1))}, want: reason.NotCacheableSize,
			change: func(o *Options) { o.Flags = map[string]string{"min-device-image-size": "1KiB"} },
		},
		{
			name: "larger than the window", r: Request{Image: image(t, src(1))}, want: reason.NotCacheableSize,
			change: func(o *Options) { o.Flags = map[string]string{"max-device-image-size": "10"} },
		},
		{
			name: "cheaper than the least", r: Request{Image: image(t, src(1))}, want: reason.NotCacheableCheap,
			change: func(o *Options) { o.MinBuildTime = time.Hour },
		},
		{name: "options that the runtime is not sure of", r: Request{Image: image(t, src(1)), CompileOptions: "-unsure"}, want: reason.NotCacheableRuntime},
		{
			name: "a device that cannot be identified", r: Request{Image: image(t, src(1))}, want: reason.NotCacheableRuntime,
			fake: func(f *fakeRuntime) { f.devices[0].API = "" },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			for i := range 2 {
				f := newFake(t)
				if tt.fake != nil {
					tt.fake(f)
				}
				s := run(t, root, f, tt.change, tt.r)
				if tt.stored {
					f.wantBuilds(1 - i)
					continue
				}
				f.wantBuilds(1)
				if s[stats.Of(tt.want)] != 1 || s[stats.DiskPuts] != 0 {
					t.Errorf("run %d: %v", i, s)
				}
			}
		})
	}
}

// An uncacheable image is a snapshot: who uses the same one shares it in
// memory, who makes it anew builds anew.
func TestUncacheableImagesAreSharedByIdentity(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	x := fakeContextOn(openCache(t, newRoot(t)), f)
	a, b := image(t, "#include <a.h>"), image(t, "#include <a.h>")
	use(t, x, Request{Image: a})
	use(t, x, Request{Image: a})
	f.wantBuilds(1)
	use(t, x, Request{Image: b})
	f.wantBuilds(2)
}

// Whatever is wrong with the tier is a miss with a reason; the build goes on.
func TestBadRoots(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, root string)
	}{
		{"a file", func(t *testing.T, root string) { writeFile(t, root, "x") }},
		{"open to others", func(t *testing.T, root string) { mkdir(t, root, 0o777) }},
		{"a symbolic link", func(t *testing.T, root string) {
			mkdir(t, root+"2", 0o700)
			if err := os.Symlink(root+"2", root); err != nil {
				t.Fatal(err)
			}
		}},
		{"another user's", func(t *testing.T, root string) {
			mkdir(t, root, 0o700)
			if err := os.Chown(root, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			tt.make(t, root)
			f := newFake(t)
			s := run(t, root, f, nil, Request{Image: image(t, src(1))})
			f.wantBuilds(1)
			if s[stats.DiskMisses] != 1 || s[stats.Of(reason.MissTierOff)] != 1 || s[stats.DiskPuts] != 0 {
				t.Errorf("counted %v", s)
			}
		})
	}
}

func mkdir(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Mkdir(path, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A root that is deleted while it is in use: a miss, and the next build stores
// again.
func TestRootDeletedInUse(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	f := newFake(t)
	c := openCache(t, root)
	x := fakeContextOn(c, f)
	r := Request{Image: image(t, src(1))}
	use(t, x, r)
	flush(t, c)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	x.Clear()
	use(t, x, r)
	f.wantBuilds(2)
	flush(t, c)
	x.Clear()
	use(t, x, r)
	f.wantBuilds(2)
}

func flush(t *testing.T, c *Cache) {
	t.Helper()
	if !c.Flush(3 * time.Minute) {
		t.Fatal("artifacts are still being stored")
	}
}

// entries returns the .bin files below a root.
func entries(t *testing.T, root string) (bins []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".bin") {
			bins = append(bins, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bins
}

// No damaged byte reaches the driver (a driver crashes on one, reference
// systems served eight flipped bytes as success, or failed for ever): each
// damage is a miss with its reason, and the next build repairs it.
func TestDamage(t *testing.T) {
	t.Parallel()
	other := Request{Image: image(t, src(2))}
	tests := []struct {
		name   string
		damage func(t *testing.T, bin string, b []byte)
		why    reason.Reason
	}{
		{"truncated", func(t *testing.T, bin string, b []byte) { overwrite(t, bin, b[:len(b)-1]) }, reason.MissTruncated},
		{"zero length", func(t *testing.T, bin string, b []byte) { overwrite(t, bin, nil) }, reason.MissTruncated},
		{"half", func(t *testing.T, bin string, b []byte) { overwrite(t, bin, b[:len(b)/2]) }, reason.MissTruncated},
		{"a byte too many", func(t *testing.T, bin string, b []byte) { overwrite(t, bin, append(b, 0)) }, reason.MissTruncated},
		{"last bit flipped", func(t *testing.T, bin string, b []byte) { b[len(b)-1] ^= 1; overwrite(t, bin, b) }, reason.MissDigest},
		{"foreign", func(t *testing.T, bin string, b []byte) {
			overwrite(t, bin, []byte(strings.Repeat("\x7fELF", 500)))
		}, reason.MissForeign},
		{"swapped with another program's", func(t *testing.T, bin string, b []byte) {
			root := filepath.Dir(bin)
			for range 4 {
				root = filepath.Dir(root)
			}
			for _, e := range entries(t, root) {
				if e != bin {
					other, err := os.ReadFile(e)
					if err != nil {
						t.Fatal(err)
					}
					overwrite(t, bin, other)
				}
			}
		}, reason.MissCollision},
		{"a symbolic link", func(t *testing.T, bin string, b []byte) {
			overwrite(t, bin+".real", b)
			replace(t, bin, func() error { return os.Symlink(bin+".real", bin) })
		}, reason.MissIrregular},
		{"a directory", func(t *testing.T, bin string, b []byte) {
			replace(t, bin, func() error { return os.Mkdir(bin, 0o700) })
		}, reason.MissIrregular},
		{"a FIFO", func(t *testing.T, bin string, b []byte) {
			replace(t, bin, func() error { return mkfifo(bin) })
		}, reason.MissIrregular},
		{"another owner's", func(t *testing.T, bin string, b []byte) {
			if err := os.Chown(bin, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}, reason.MissIrregular},
		{"gone", func(t *testing.T, bin string, b []byte) {
			if err := os.Remove(bin); err != nil {
				t.Fatal(err)
			}
		}, reason.MissAbsent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			r := Request{Image: image(t, src(1))}
			run(t, root, newFake(t), nil, r)
			bin := entries(t, root)[0]
			b, err := os.ReadFile(bin)
			if err != nil {
				t.Fatal(err)
			}
			run(t, root, newFake(t), nil, other)
			tt.damage(t, bin, b)

			f := newFake(t)
			s := run(t, root, f, nil, r)
			f.wantBuilds(1)
			if f.loads != 0 {
				t.Error("the driver was given something")
			}
			if s[stats.Of(tt.why)] != 1 || s[stats.DiskMisses] != 1 {
				t.Errorf("counted %v, want %v", s, tt.why)
			}
			f = newFake(t)
			run(t, root, f, nil, r, other)
			f.wantBuilds(0) // repaired, and the other entry is as it was
		})
	}
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path string, with func() error) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := with(); err != nil {
		t.Fatal(err)
	}
}

// An artifact that the driver refuses is a miss, and is replaced.
func TestRefusedArtifact(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := Request{Image: image(t, src(1))}
	run(t, root, newFake(t), nil, r)
	f := newFake(t)
	f.load = func(Job, *store.Artifact) error { return errors.New("CL_INVALID_BINARY") }
	s := run(t, root, f, nil, r)
	f.wantBuilds(1)
	if s[stats.Of(reason.MissRefused)] != 1 || s[stats.Corrupt] != 1 || s[stats.DiskHits] != 0 || s[stats.DiskPuts] != 1 {
		t.Errorf("counted %v", s)
	}
	f = newFake(t)
	run(t, root, f, nil, r)
	f.wantBuilds(0)
}

// Read-only layers are asked after the root, in order, and never written.
func TestLayers(t *testing.T) {
	t.Parallel()
	a, b := newRoot(t), newRoot(t)
	one, two, three := Request{Image: image(t, src(1))}, Request{Image: image(t, src(2))}, Request{Image: image(t, src(3))}
	run(t, a, newFake(t), nil, one)
	run(t, b, newFake(t), nil, one, two)
	before := len(entries(t, a)) + len(entries(t, b))

	root := newRoot(t)
	f := newFake(t)
	s := run(t, root, f, func(o *Options) { o.Layers = []string{a, b} }, one, two, three)
	f.wantBuilds(1)
	if s[stats.DiskHits] != 2 || s[stats.DiskMisses] != 1 {
		t.Errorf("counted %v", s)
	}
	if n := len(entries(t, a)) + len(entries(t, b)); n != before || len(entries(t, root)) != 1 {
		t.Errorf("%d entries in the layers, were %d; %d in the root", n, before, len(entries(t, root)))
	}
	// Who asks is told which layer had it.
	var told decisions
	c := openCache(t, root, func(o *Options) { o.Layers = []string{a, b} })
	defer c.Close()
	x := NewContext[*fakeProgram, *fakeKernel](c, newFake(t), ContextOptions{decided: told.take})
	for i, r := range []Request{one, two, three} {
		use(t, x, r)
		if got, want := told.after(t, i+1)[i].Layer, []string{a, b, ""}[i]; got != want {
			t.Errorf("program %d is of the layer %q, want %q", i+1, got, want)
		}
	}
	f = newFake(t)
	run(t, "", f, func(o *Options) {
		o.NoDisk, o.Mode, o.Dir = false, "", root
		o.Layers = []string{filepath.Join(root, "absent")}
	}, three)
	f.wantBuilds(0)
}

// KERNSTASH_DISABLE is tested with the settings; here what it does. Devices are not identified, which
// may take as long as a build.
func TestDisabled(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	f := newFake(t)
	f.identifying = func() { t.Error("a device is identified") }
	r := Request{Image: image(t, src(1))}
	run(t, root, f, func(o *Options) { o.Flags = map[string]string{"disable": "1"} }, r, r)
	f.wantBuilds(2)
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the root was touched: %v", err)
	}
}

func TestOpenNamesABadSetting(t *testing.T) {
	t.Parallel()
	_, err := Open(Options{Flags: map[string]string{"max-size": "many"}})
	if err == nil || !strings.Contains(err.Error(), "max-size") || !strings.Contains(err.Error(), "many") {
		t.Errorf("Open: %v", err)
	}
}

// The operator's options replace or follow those of the program.
func TestOperatorsOptions(t *testing.T) {
	t.Parallel()
	img := image(t, src(1))
	img.CompileOptions = "-image"
	r := Request{Image: img, CompileOptions: "-api", LinkOptions: "-l"}
	tests := []struct {
		flags         map[string]string
		compile, link string
	}{
		{nil, "-image -api", "-l"},
		{map[string]string{"append-compile-options": "-mine"}, "-image -api -mine", "-l"},
		{map[string]string{"compile-options": "-only"}, "-only", "-l"},
		{map[string]string{"link-options": "", "append-link-options": "-x"}, "-image -api", "-x"},
	}
	for _, tt := range tests {
		c := openCache(t, "", func(o *Options) { o.Flags = tt.flags })
		tx, err := fakeContextOn(c, newFake(t)).session.Begin(t.Context(), r.engine())
		if err != nil {
			t.Fatal(err)
		}
		got := tx.Group(0).Job().Recipe.Options
		if got.CompileString() != tt.compile || got.LinkString() != tt.link {
			t.Errorf("%v: compile %q, link %q", tt.flags, got.CompileString(), got.LinkString())
		}
	}
}

// A miss says what the nearest entry differs in.
func TestMissesAreExplained(t *testing.T) {
	t.Parallel()
	base := Request{Image: image(t, src(1)), CompileOptions: "-DN=4", Constants: []key.SpecConstant{key.Uint32(7, 1)}}
	tests := []struct {
		name   string
		change func(*fakeRuntime, *Request)
		want   reason.Reason
	}{
		{"an option", func(_ *fakeRuntime, r *Request) { r.CompileOptions = "-DN=8" }, reason.NearestOptions},
		{"a constant", func(_ *fakeRuntime, r *Request) { r.Constants = []key.SpecConstant{key.Uint32(7, 2)} }, reason.NearestConstants},
		{"the driver", func(f *fakeRuntime, _ *Request) { f.devices[0].Driver = "2" }, reason.NearestDriver},
		{"the device", func(f *fakeRuntime, _ *Request) { f.devices[0].Name = "M" }, reason.NearestDevice},
		{"the compiler", func(f *fakeRuntime, _ *Request) {
			f.devices[0].Compiler = []key.Pair{{Name: "libc.so", Value: "2"}}
		}, reason.NearestCompiler},
		{"a variable", func(f *fakeRuntime, _ *Request) {
			f.variables = []key.Pair{{Name: "POCL_X", Value: "1"}}
		}, reason.NearestVariable},
		{"the image", func(_ *fakeRuntime, r *Request) { r.Image = image(t, src(9)) }, reason.NearestImage},
		{"everything", func(f *fakeRuntime, r *Request) {
			r.Image, f.devices[0].Name = image(t, src(9)), "M"
		}, reason.NearestNothing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			run(t, root, newFake(t), nil, base)
			f, r := newFake(t), base
			tt.change(f, &r)
			s := run(t, root, f, nil, r)
			f.wantBuilds(1)
			if s[stats.Of(tt.want)] != 1 {
				t.Errorf("counted %v, want %v", s, tt.want)
			}
		})
	}
}

func TestPreload(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var seen []Progress
	c := openCache(t, newRoot(t))
	x := NewContext(c, f, ContextOptions{Progress: func(p Progress) { seen = append(seen, p) }})
	bad := Request{}
	err := x.Preload(t.Context(), Request{Image: image(t, src(1))}, bad, Request{Image: image(t, "#include <a.h>")})
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("Preload: %v", err)
	}
	if len(seen) != 3 || seen[2].Done != 3 || seen[2].Total != 3 {
		t.Fatalf("progress %+v", seen)
	}
	failed, against := 0, 0
	for _, p := range seen {
		if p.Err != nil {
			failed++
		}
		if strings.HasPrefix(p.UncacheableReason, "not cacheable: headers") {
			against++
		}
	}
	if failed != 1 || against != 1 {
		t.Errorf("progress %+v", seen)
	}
	f.wantBuilds(2)
}
