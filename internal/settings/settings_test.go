package settings

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// defaults are what Load gives with HOME=/home/u and nothing else.
func defaults() Values {
	return Values{
		Dir: "/home/u/.cache/kernstash", Mode: ModeOn, Persistent: true, InMemory: true,
		MaxSize: 5 << 30, Threshold: 30 * day, Eviction: EvictCost,
		MaxDeviceImageSize: 1 << 30, InMemCapacity: 1024,
		CloseTimeout: 5 * time.Second, CaptureQuiet: 50 * time.Millisecond, Worker: WorkerAuto,
	}
}

func TestEveryDefaultParses(t *testing.T) {
	t.Parallel()
	for _, row := range table {
		if row.deflt == "" {
			continue
		}
		var v Values
		if err := row.set(&v, row.deflt); err != nil {
			t.Errorf("%s: default %q: %v", row.name, row.deflt, err)
		}
		if got := row.get(&v); got != row.deflt {
			t.Errorf("%s: default %q reads back as %q", row.name, row.deflt, got)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, row := range table {
		if seen[row.name] || seen[row.env] {
			t.Errorf("%s or %s is there twice", row.name, row.env)
		}
		seen[row.name], seen[row.env] = true, true
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	home := "HOME=/home/u"
	text := func(s string) *string { return &s }
	tests := map[string]struct {
		in   Inputs
		file string
		want func(*Values)
		from map[string]Origin
	}{
		"defaults":       {in: Inputs{Environ: []string{home}}},
		"no home":        {in: Inputs{Environ: []string{}}, want: func(v *Values) { v.Dir = "" }},
		"relative home":  {in: Inputs{Environ: []string{"HOME=u"}}, want: func(v *Values) { v.Dir = "" }},
		"XDG":            {in: Inputs{Environ: []string{home, "XDG_CACHE_HOME=/x"}}, want: func(v *Values) { v.Dir = "/x/kernstash" }},
		"XDG relative":   {in: Inputs{Environ: []string{home, "XDG_CACHE_HOME=x"}}},
		"empty is unset": {in: Inputs{Environ: []string{home, "KERNSTASH_DIR=", "KERNSTASH_MAX_SIZE=", "KERNSTASH_IN_MEM="}}},
		"empty override": {
			in:   Inputs{Environ: []string{home, "KERNSTASH_COMPILE_OPTIONS=", "KERNSTASH_LINK_OPTIONS=-x y"}},
			want: func(v *Values) { v.CompileOptions, v.LinkOptions = text(""), text("-x y") },
		},
		"first variable of a name": {
			in:   Inputs{Environ: []string{home, "KERNSTASH_MAX_SIZE=1", "KERNSTASH_MAX_SIZE=2"}},
			want: func(v *Values) { v.MaxSize = 1 },
			from: map[string]Origin{"max-size": {Source: Environment}},
		},
		"every kind": {
			in: Inputs{Environ: []string{
				home, "KERNSTASH_DIR=/d", "KERNSTASH_PERSISTENT=0", "KERNSTASH_IN_MEM=0", "KERNSTASH_MAX_SIZE=2g",
				"KERNSTASH_THRESHOLD=7", "KERNSTASH_EVICTION=LRU", "KERNSTASH_LAYERS=/a::/b", "KERNSTASH_MIN_BUILD_TIME=250ms",
				"KERNSTASH_IN_MEM_CAPACITY=3", "KERNSTASH_TRACE=disk,keys", "KERNSTASH_TRACE_FILE=/t",
				"KERNSTASH_APPEND_COMPILE_OPTIONS=-a", "KERNSTASH_MIN_DEVICE_IMAGE_SIZE=1k", "KERNSTASH_CLOSE_TIMEOUT=0",
				"KERNSTASH_MODE=observe",
			}},
			want: func(v *Values) {
				v.Dir, v.Persistent, v.InMemory, v.MaxSize = "/d", false, false, 2<<30
				v.Threshold, v.Eviction, v.Layers, v.MinBuildTime = 7*day, EvictLRU, []string{"/a", "/b"}, 250*time.Millisecond
				v.InMemCapacity, v.Trace, v.TraceFile = 3, TraceDisk|TraceKeys, "/t"
				v.AppendCompileOptions, v.MinDeviceImageSize, v.CloseTimeout = "-a", 1<<10, 0
				v.Mode = ModeObserve
			},
		},
		"file": {
			in:   Inputs{Environ: []string{home}},
			file: `{"dir": "~/stash", "max-size": 1000, "persistent": false, "layers": ["/a", "~/b"], "trace": null}`,
			want: func(v *Values) {
				v.Dir, v.MaxSize, v.Persistent, v.Layers = "/home/u/stash", 1000, false, []string{"/a", "/home/u/b"}
			},
		},
		"precedence": {
			in: Inputs{
				Environ: []string{home, "KERNSTASH_THRESHOLD=3", "KERNSTASH_DIR=/env"},
				Program: map[string]string{"eviction": "lru", "threshold": "2", "dir": "/program"},
				Flags:   map[string]string{"dir": "/flag"},
			},
			file: `{"max-size": 1, "eviction": "cost", "threshold": 1, "dir": "/file"}`,
			want: func(v *Values) {
				v.MaxSize, v.Eviction, v.Threshold, v.Dir = 1, EvictLRU, 3*day, "/flag"
			},
			from: map[string]Origin{
				"eviction": {Source: Program}, "threshold": {Source: Environment}, "dir": {Source: Flag},
			},
		},
		"the operator's 1 stands above a flag": {
			in: Inputs{
				Environ: []string{home, "KERNSTASH_DISABLE=1"},
				Flags:   map[string]string{"disable": "0"},
			},
			want: func(v *Values) { v.Disable = true },
			from: map[string]Origin{"disable": {Source: Environment}},
		},
		"a flag stands above the operator's 0": {
			in: Inputs{
				Environ: []string{home, "KERNSTASH_DISABLE=0"},
				Flags:   map[string]string{"disable": "1"},
			},
			want: func(v *Values) { v.Disable = true },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, want := tt.in, defaults()
			if tt.file != "" {
				in.ConfigFile = writeFile(t, tt.file)
			}
			if tt.want != nil {
				tt.want(&want)
			}
			s, err := Load(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.Values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			for name, from := range tt.from {
				if got := s.Origin(name); got != from {
					t.Errorf("%s is from %v, want %v", name, got, from)
				}
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	env := Origin{Source: Environment}
	tests := map[string]struct {
		in   Inputs
		want Error
	}{
		"negative size":   {Inputs{Environ: []string{"KERNSTASH_MAX_SIZE=-5"}}, Error{"KERNSTASH_MAX_SIZE", "-5", env, sizeKind.accepts}},
		"size in words":   {Inputs{Environ: []string{"KERNSTASH_MAX_SIZE=much"}}, Error{"KERNSTASH_MAX_SIZE", "much", env, sizeKind.accepts}},
		"bool":            {Inputs{Environ: []string{"KERNSTASH_PERSISTENT=yes"}}, Error{"KERNSTASH_PERSISTENT", "yes", env, boolKind.accepts}},
		"disable":         {Inputs{Environ: []string{"KERNSTASH_DISABLE=2"}}, Error{"KERNSTASH_DISABLE", "2", env, boolKind.accepts}},
		"negative days":   {Inputs{Environ: []string{"KERNSTASH_THRESHOLD=-1"}}, Error{"KERNSTASH_THRESHOLD", "-1", env, daysKind.accepts}},
		"unknown policy":  {Inputs{Environ: []string{"KERNSTASH_EVICTION=fifo"}}, Error{"KERNSTASH_EVICTION", "fifo", env, evictionKind.accepts}},
		"time, no unit":   {Inputs{Environ: []string{"KERNSTASH_MIN_BUILD_TIME=5"}}, Error{"KERNSTASH_MIN_BUILD_TIME", "5", env, timeKind.accepts}},
		"negative count":  {Inputs{Environ: []string{"KERNSTASH_IN_MEM_CAPACITY=-1"}}, Error{"KERNSTASH_IN_MEM_CAPACITY", "-1", env, countKind.accepts}},
		"trace":           {Inputs{Environ: []string{"KERNSTASH_TRACE=8"}}, Error{"KERNSTASH_TRACE", "8", env, traceKind.accepts}},
		"flag":            {Inputs{Flags: map[string]string{"max-size": "x"}}, Error{"max-size", "x", Origin{Source: Flag}, sizeKind.accepts}},
		"program, no row": {Inputs{Program: map[string]string{"maxsize": "1"}}, Error{"maxsize", "1", Origin{Source: Program}, ""}},
		"window": {
			Inputs{Environ: []string{"KERNSTASH_MIN_DEVICE_IMAGE_SIZE=2k", "KERNSTASH_MAX_DEVICE_IMAGE_SIZE=1k"}},
			Error{"KERNSTASH_MIN_DEVICE_IMAGE_SIZE", "2KiB", env, "at most max-device-image-size, which is 1KiB"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := tt.in
			in.Environ = append([]string{"HOME=/home/u"}, in.Environ...)
			_, err := Load(in)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}

			in.Lenient = true
			s, err := Load(in)
			if err != nil {
				t.Fatalf("lenient: %v", err)
			}
			if len(s.Warnings) == 0 || !errors.As(s.Warnings[0], &got) || *got != tt.want {
				t.Errorf("lenient: warnings %v, want %v", s.Warnings, &tt.want)
			}
			want := defaults()
			want.MaxDeviceImageSize = s.MaxDeviceImageSize // the window's test sets one side rightly
			if diff := cmp.Diff(want, s.Values); diff != "" {
				t.Errorf("lenient: values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadReportsEveryError(t *testing.T) {
	t.Parallel()
	s, err := Load(Inputs{Environ: []string{"KERNSTASH_MAX_SIZE=-1", "KERNSTASH_TRACE=x", "KERNSTASH_THRESHOLD=4"}})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 2 {
		t.Errorf("got %v, want two errors", err)
	}
	if s == nil || s.Threshold != 4*day {
		t.Error("the good value is lost")
	}
}

func TestUnknownVariableIsAWarning(t *testing.T) {
	t.Parallel()
	s, err := Load(Inputs{Environ: []string{"KERNSTASH_MAXSIZE=1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []error{&Error{Name: "KERNSTASH_MAXSIZE", Value: "1", Origin: Origin{Source: Environment}}}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestDefaultFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"HOME=" + dir}
	s, err := Load(Inputs{Environ: env})
	if err != nil || s.File != "" {
		t.Fatalf("without a file: %q, %v", s.File, err)
	}
	path := filepath.Join(dir, ".config", "kernstash", "config.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"trace": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Load(Inputs{Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Origin{File, path}); s.Trace != TraceAll || s.Origin("trace") != want || s.File != path {
		t.Errorf("trace %v from %v, file %q", s.Trace, s.Origin("trace"), s.File)
	}
}

func TestBadFile(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"unknown name": `{"maxsize": 1}`,
		"bad value":    `{"max-size": "huge"}`,
		"negative":     `{"max-size": -1}`,
		"object":       `{"dir": {}}`,
		"no object":    `[]`,
		"twice":        `{"dir": "/a", "dir": "/b"}`,
		"cut":          `{"dir": "/a"`,
		"empty":        ``,
		"more":         `{} {}`,
		"no JSON":      `dir = /a`,
		"list":         `{"layers": [1]}`,
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, content)
			_, err := Load(Inputs{Environ: []string{"HOME=/home/u"}, ConfigFile: path})
			var fileErr *FileError
			var valueErr *Error
			switch {
			case errors.As(err, &fileErr):
				if fileErr.Path != path {
					t.Errorf("path %q", fileErr.Path)
				}
			case errors.As(err, &valueErr):
				if valueErr.Origin != (Origin{File, path}) {
					t.Errorf("origin %v", valueErr.Origin)
				}
			default:
				t.Errorf("got %v", err)
			}
			s, err := Load(Inputs{Environ: []string{"HOME=/home/u"}, ConfigFile: path, Lenient: true})
			if err != nil || len(s.Warnings) != 1 {
				t.Errorf("lenient: %v, warnings %v", err, s.Warnings)
			}
			if diff := cmp.Diff(defaults(), s.Values); diff != "" {
				t.Errorf("lenient (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingNamedFileIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Load(Inputs{Environ: []string{}, ConfigFile: filepath.Join(t.TempDir(), "none.json")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	s, err := Load(Inputs{Environ: []string{"HOME=/home/u", "KERNSTASH_MAX_SIZE=1024k"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []Item
	for _, item := range s.All() {
		if item.Name == "dir" || item.Name == "max-size" {
			got = append(got, item)
		}
	}
	want := []Item{
		{
			Name: "dir", Variable: "KERNSTASH_DIR", Value: "/home/u/.cache/kernstash",
			Default: "$XDG_CACHE_HOME/kernstash, else ~/.cache/kernstash",
		},
		{
			Name: "max-size", Variable: "KERNSTASH_MAX_SIZE", Value: "1MiB", Default: "5GiB",
			Origin: Origin{Source: Environment},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Item{}, "Accepts", "Description")); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	for _, item := range s.All() {
		if item.Accepts == "" || item.Description == "" {
			t.Errorf("%s is not described", item.Name)
		}
	}
}

func TestErrorNamesVariableAndValue(t *testing.T) {
	t.Parallel()
	_, err := Load(Inputs{Environ: []string{"KERNSTASH_PERSISTENT=maybe"}})
	const want = `setting KERNSTASH_PERSISTENT="maybe" (environment): want 0 or 1`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPlaceOnWindows(t *testing.T) {
	t.Parallel()
	env := environment{"HOME=/home/u", "XDG_CACHE_HOME=/x", "LOCALAPPDATA=/appdata"}
	if got := env.place("windows", "XDG_CACHE_HOME", ".cache"); got != filepath.FromSlash("/appdata/kernstash") {
		t.Errorf("got %q", got)
	}
	if got := (environment{}).place("windows", "XDG_CACHE_HOME"); got != "" {
		t.Errorf("without LocalAppData: %q", got)
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
