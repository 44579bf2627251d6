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
		Dir: "/home/u/.cache/kernstash", Trust: "/home/u/.config/kernstash/trust", Mode: ModeOn, Persistent: true, InMemory: true,
		MaxSize: 5 << 30, Threshold: 30 * day, Eviction: EvictCost,
		Agent: AgentAuto, Frameworks: FrameworksDefault, FrameworksMaxSize: 5 << 30,
		MaxDeviceImageSize: 1 << 30, InMemCapacity: 1024,
		CloseTimeout: 5 * time.Second, CaptureQuiet: 50 * time.Millisecond, Worker: WorkerAuto, Records: true, Compilers: true,
		Tenant: "default", RemoteTimeout: 500 * time.Millisecond,
	}
}

func TestEveryDefaultParses(t *testing.T) {
	t.Parallel()
	for _, row := range new(Values).table() {
		if row.Default == "" {
			continue
		}
		if err := row.set(row.Default); err != nil {
			t.Errorf("%s: default %q: %v", row.Name, row.Default, err)
		}
		if got := row.get(); got != row.Default {
			t.Errorf("%s: default %q reads back as %q", row.Name, row.Default, got)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, row := range new(Values).table() {
		if seen[row.Name] || seen[row.Variable] {
			t.Errorf("%s or %s is there twice", row.Name, row.Variable)
		}
		seen[row.Name], seen[row.Variable] = true, true
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
		"defaults":      {in: Inputs{Environ: []string{home}}},
		"no home":       {in: Inputs{Environ: []string{}}, want: func(v *Values) { v.Dir, v.Trust = "", "" }},
		"relative home": {in: Inputs{Environ: []string{"HOME=u"}}, want: func(v *Values) { v.Dir, v.Trust = "", "" }},
		"XDG":           {in: Inputs{Environ: []string{home, "XDG_CACHE_HOME=/x"}}, want: func(v *Values) { v.Dir = "/x/kernstash" }},
		"XDG relative":  {in: Inputs{Environ: []string{home, "XDG_CACHE_HOME=x"}}},
		"XDG of settings": {
			in: Inputs{Environ: []string{home, "XDG_CONFIG_HOME=/x"}}, want: func(v *Values) { v.Trust = "/x/kernstash/trust" },
			from: map[string]Origin{"trust": {}},
		},
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
				"KERNSTASH_MODE=observe", "KERNSTASH_TRUST=/keys",
			}},
			want: func(v *Values) {
				v.Trust = "/keys"
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
		"the operator's word stands above a flag": {
			in: Inputs{
				Environ: []string{home, "KERNSTASH_DISABLE=Yes"},
				Flags:   map[string]string{"disable": "no"},
			},
			want: func(v *Values) { v.Disable = true },
			from: map[string]Origin{"disable": {Source: Environment}},
		},
		"the mode switches off": {
			in:   Inputs{Environ: []string{home, "KERNSTASH_MODE=off"}},
			want: func(v *Values) { v.Disable, v.Mode = true, ModeOff },
			from: map[string]Origin{"disable": {Source: Environment}},
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
	const off, unwritten, ignored = "the cache is off", "the cache is read, and not written", "it is ignored"
	same := func(*Values) {}
	disabled := func(v *Values) { v.Disable = true }
	readOnly := func(v *Values) { v.Mode = ModeReadOnly }
	tests := map[string]struct {
		in      Inputs
		want    Error
		effect  string
		lenient func(*Values)
	}{
		"negative size": {
			Inputs{Environ: []string{"KERNSTASH_MAX_SIZE=-5"}},
			Error{Name: "KERNSTASH_MAX_SIZE", Value: "-5", Origin: env, Want: sizeKind.accepts},
			unwritten, readOnly,
		},
		"size in words": {
			Inputs{Environ: []string{"KERNSTASH_MAX_SIZE=much"}},
			Error{Name: "KERNSTASH_MAX_SIZE", Value: "much", Origin: env, Want: sizeKind.accepts},
			unwritten, readOnly,
		},
		"bool": {
			Inputs{Environ: []string{"KERNSTASH_PERSISTENT=maybe"}},
			Error{Name: "KERNSTASH_PERSISTENT", Value: "maybe", Origin: env, Want: boolKind.accepts},
			"the disk tier is off", func(v *Values) { v.Persistent = false },
		},
		"records": {
			Inputs{Environ: []string{"KERNSTASH_RECORDS=never"}},
			Error{Name: "KERNSTASH_RECORDS", Value: "never", Origin: env, Want: boolKind.accepts},
			"nothing is recorded", func(v *Values) { v.Records = false },
		},
		"no name of an application": {
			Inputs{Environ: []string{"KERNSTASH_APPS_OFF=a,,b"}},
			Error{Name: "KERNSTASH_APPS_OFF", Value: "a,,b", Origin: env, Want: namesKind.accepts},
			off, disabled,
		},
		"disable": {
			Inputs{Environ: []string{"KERNSTASH_DISABLE=2"}},
			Error{Name: "KERNSTASH_DISABLE", Value: "2", Origin: env, Want: boolKind.accepts},
			off, disabled,
		},
		"disable, and a flag": {
			Inputs{Environ: []string{"KERNSTASH_DISABLE=2"}, Flags: map[string]string{"disable": "0"}},
			Error{Name: "KERNSTASH_DISABLE", Value: "2", Origin: env, Want: boolKind.accepts},
			off, disabled,
		},
		"mode": {
			Inputs{Environ: []string{"KERNSTASH_MODE=readonly"}},
			Error{Name: "KERNSTASH_MODE", Value: "readonly", Origin: env, Want: modeKind.accepts},
			unwritten, readOnly,
		},
		"no path of keys": {
			Inputs{Environ: []string{"KERNSTASH_TRUST=a\x00b"}},
			Error{Name: "KERNSTASH_TRUST", Value: "a\x00b", Origin: env, Want: pathKind.accepts},
			"no key is trusted", func(v *Values) { v.Trust = "/dev/null" },
		},
		"mode that may be any": {
			Inputs{Environ: []string{"KERNSTASH_MODE=obsrve"}},
			Error{Name: "KERNSTASH_MODE", Value: "obsrve", Origin: env, Want: modeKind.accepts},
			off, disabled,
		},
		"nothing left of a mode": {
			Inputs{Environ: []string{"KERNSTASH_MODE=refresh", "KERNSTASH_MIN_BUILD_TIME=5"}},
			Error{Name: "KERNSTASH_MIN_BUILD_TIME", Value: "5", Origin: env, Want: timeKind.accepts},
			off,
			func(v *Values) { v.Disable, v.Mode = true, ModeRefresh },
		},
		"negative days": {
			Inputs{Environ: []string{"KERNSTASH_THRESHOLD=-1"}},
			Error{Name: "KERNSTASH_THRESHOLD", Value: "-1", Origin: env, Want: daysKind.accepts},
			"no entry is removed for its age", func(v *Values) { v.Threshold = 0 },
		},
		"unknown policy": {
			Inputs{Environ: []string{"KERNSTASH_EVICTION=fifo"}},
			Error{Name: "KERNSTASH_EVICTION", Value: "fifo", Origin: env, Want: evictionKind.accepts},
			ignored, same,
		},
		"time, no unit": {
			Inputs{Environ: []string{"KERNSTASH_MIN_BUILD_TIME=5"}},
			Error{Name: "KERNSTASH_MIN_BUILD_TIME", Value: "5", Origin: env, Want: timeKind.accepts},
			unwritten, readOnly,
		},
		"negative count": {
			Inputs{Environ: []string{"KERNSTASH_IN_MEM_CAPACITY=-1"}},
			Error{Name: "KERNSTASH_IN_MEM_CAPACITY", Value: "-1", Origin: env, Want: countKind.accepts},
			"the memory tier is off", func(v *Values) { v.InMemory = false },
		},
		"worker": {
			Inputs{Environ: []string{"KERNSTASH_WORKER=never"}},
			Error{Name: "KERNSTASH_WORKER", Value: "never", Origin: env, Want: workerKind.accepts},
			"no worker is started", func(v *Values) { v.Worker = WorkerOff },
		},
		"trace": {
			Inputs{Environ: []string{"KERNSTASH_TRACE=8"}},
			Error{Name: "KERNSTASH_TRACE", Value: "8", Origin: env, Want: traceKind.accepts},
			ignored, same,
		},
		"flag": {
			Inputs{Flags: map[string]string{"max-size": "x"}},
			Error{Name: "max-size", Value: "x", Origin: Origin{Source: Flag}, Want: sizeKind.accepts},
			unwritten, readOnly,
		},
		"program, no row": {
			Inputs{Program: map[string]string{"frobnicate": "1"}},
			Error{Name: "frobnicate", Value: "1", Origin: Origin{Source: Program}},
			ignored, same,
		},
		"program, misspelt": {
			Inputs{Program: map[string]string{"maxsize": "1"}},
			Error{Name: "maxsize", Value: "1", Origin: Origin{Source: Program}, Meant: "max-size"},
			unwritten, readOnly,
		},
		"window": {
			Inputs{Environ: []string{"KERNSTASH_MIN_DEVICE_IMAGE_SIZE=2k", "KERNSTASH_MAX_DEVICE_IMAGE_SIZE=1k"}},
			Error{
				Name: "KERNSTASH_MIN_DEVICE_IMAGE_SIZE", Value: "2KiB", Origin: env,
				Want: "at most max-device-image-size, which is 1KiB",
			},
			unwritten, readOnly,
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
			tt.want.Effect = tt.effect
			if len(s.Warnings) == 0 || !errors.As(s.Warnings[0], &got) || *got != tt.want {
				t.Errorf("lenient: warnings %v, want %v", s.Warnings, &tt.want)
			}
			want := defaults()
			tt.lenient(&want)
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
	env := Origin{Source: Environment}
	for name, want := range map[string]Error{
		"KERNSTASH_FROBNICATE": {},
		"KERNSTASH_MAXSIZE":    {Meant: "KERNSTASH_MAX_SIZE", Effect: "the cache is read, and not written"},
		"KERNSTASH_DISABLED":   {Meant: "KERNSTASH_DISABLE", Effect: "the cache is off"},
		"KERNSTASH_DISABEL":    {Meant: "KERNSTASH_DISABLE", Effect: "the cache is off"},
		"KERNSTASH_NO_CACHE":   {Meant: "KERNSTASH_DISABLE", Effect: "the cache is off"},
		"KERNSTASH_READ_ONLY":  {Meant: "KERNSTASH_MODE", Effect: "the cache is read, and not written"},
		"KERNSTASH_OBSERVE":    {Meant: "KERNSTASH_MODE", Effect: "the cache is off"},
		"KERNSTASH_TRACES":     {Meant: "KERNSTASH_TRACE", Effect: "it is ignored"},
	} {
		s, err := Load(Inputs{Environ: []string{name + "=1"}})
		if err != nil {
			t.Fatal(err)
		}
		want.Name, want.Value, want.Origin = name, "1", env
		if diff := cmp.Diff([]error{&want}, s.Warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
		if off := want.Effect == "the cache is off"; off != s.Disable {
			t.Errorf("%s: off %v", name, s.Disable)
		}
		if unwritten := want.Effect == "the cache is read, and not written"; unwritten != (s.Mode == ModeReadOnly) {
			t.Errorf("%s: mode %s", name, s.Mode)
		}
	}
}

// TestReplaced: what a later source decides, an earlier one's mistake does not.
func TestReplaced(t *testing.T) {
	t.Parallel()
	s, err := Load(Inputs{
		Environ:    []string{"HOME=/home/u", "KERNSTASH_MAX_SIZE=1GiB", "KERNSTASH_MODE=on"},
		ConfigFile: writeFile(t, `{"max-size": "lots", "mode": "sometimes"}`), Lenient: true,
	})
	if err != nil || s.Disable || s.Mode != ModeOn || len(s.Warnings) != 2 || len(s.Unsaid()) != 0 {
		t.Errorf("%v: off %v, mode %s, warnings %v, said %v", err, s.Disable, s.Mode, s.Warnings, s.Unsaid())
	}
}

// TestSaid: what a process has said, those that it starts do not say.
func TestSaid(t *testing.T) {
	t.Parallel()
	env := []string{"KERNSTASH_MODE=x"}
	s, _ := Load(Inputs{Environ: env, Lenient: true})
	if len(s.Unsaid()) != 1 {
		t.Fatalf("to say: %v", s.Unsaid())
	}
	env = append(env, Said+"="+s.SaidValue())
	if s, _ = Load(Inputs{Environ: env, Lenient: true}); len(s.Unsaid()) != 0 || !s.Disable {
		t.Errorf("again: %v, off %v", s.Unsaid(), s.Disable)
	}
	if s, _ = Load(Inputs{Environ: append(env, "KERNSTASH_WORKER=x"), Lenient: true}); len(s.Unsaid()) != 2 {
		t.Errorf("with another: %v", s.Unsaid())
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "on", "true": "on", "YES": "on", "On": "on", "0": "off", "False": "off", "no": "off", "OFF": "off",
		"2": "error", "y": "error", "enabled": "error", " 1": "error", "truе": "error",
	} {
		got := "off"
		switch on, err := parseBool(text); {
		case err != nil:
			got = "error"
		case on:
			got = "on"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if off := SwitchedOff(text); off != (want != "off") {
			t.Errorf("KERNSTASH_DISABLE=%q: off %v", text, off)
		}
	}
	if SwitchedOff("") {
		t.Error("empty is not unset")
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

// A default file that cannot be reached may switch the cache off, but for one in a home that
// is not the process's to enter.
func TestDefaultFileOutOfReach(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "kernstash")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("config.json", filepath.Join(dir, "config.json")); err != nil { // to itself
		t.Fatal(err)
	}
	s, err := Load(Inputs{Environ: []string{"HOME=" + home}, Lenient: true})
	if err != nil || !s.Disable || len(s.Warnings) != 1 {
		t.Errorf("%v, disabled %v, warnings %v", err, s.Disable, s.Warnings)
	}
}

func TestBadFile(t *testing.T) {
	t.Parallel()
	same := func(*Values) {}
	disabled := func(v *Values) { v.Disable = true }
	readOnly := func(v *Values) { v.Mode = ModeReadOnly }
	tests := map[string]struct {
		content string
		lenient func(*Values)
	}{
		"unknown name":     {`{"frobnicate": 1}`, same},
		"misspelt":         {`{"maxsize": 1}`, readOnly},
		"misspelt disable": {`{"disabled": true}`, disabled},
		"bad value":        {`{"max-size": "huge"}`, readOnly},
		"negative":         {`{"max-size": -1}`, readOnly},
		"object":           {`{"dir": {}}`, disabled},
		"no object":        {`[]`, disabled},
		"twice":            {`{"dir": "/a", "dir": "/b"}`, disabled},
		"cut":              {`{"dir": "/a"`, disabled},
		"empty":            {``, disabled},
		"more":             {`{} {}`, disabled},
		"no JSON":          {`dir = /a`, disabled},
		"list":             {`{"layers": [1]}`, disabled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, tt.content)
			_, err := Load(Inputs{Environ: []string{"HOME=/home/u"}, ConfigFile: path})
			var bad *Error
			if !errors.As(err, &bad) {
				t.Errorf("got %v", err)
			} else if bad.Origin != (Origin{File, path}) {
				t.Errorf("origin %v", bad.Origin)
			}
			s, err := Load(Inputs{Environ: []string{"HOME=/home/u"}, ConfigFile: path, Lenient: true})
			if err != nil || len(s.Warnings) != 1 {
				t.Errorf("lenient: %v, warnings %v", err, s.Warnings)
			}
			want := defaults()
			tt.lenient(&want)
			if diff := cmp.Diff(want, s.Values); diff != "" {
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
	const want = `setting KERNSTASH_PERSISTENT="maybe" (environment): want 1, true, yes or on, or 0, false, no or off`
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
