package diff

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// build is what a test changes of a build.
type build struct {
	driver, source, options string
	header                  byte // the content of the third header file
	constant                uint32
	variables               []key.Pair
}

func (b build) recipe(t *testing.T) *key.Recipe {
	t.Helper()
	file := func(name string, content byte, includes ...key.Include) key.File {
		return key.File{Path: "/src/" + name, Digest: sha256.Sum256([]byte{content}), Size: 1, Includes: includes}
	}
	image, err := new(key.Image).Tracked([]key.Unit{{
		Kind: key.OpenCLC, Code: []byte(b.source), Includes: []key.Include{{Name: `"a.h"`, File: 0}},
		Files: []key.File{
			file("a.h", 1, key.Include{Name: `"b.h"`, File: 1}), file("b.h", 1, key.Include{Name: `"c.h"`, File: 2}), file("c.h", b.header),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	constants, err := key.NewConstants(key.Uint32(7, b.constant))
	if err != nil {
		t.Fatal(err)
	}
	r := &key.Recipe{
		Device: key.Device{API: "opencl", Platform: "P", Name: "D", Version: "3.0", Driver: b.driver},
		Image:  image, Constants: constants, Options: key.NewOptions(b.options, ""),
	}
	r.Options.Variables = b.variables
	return r
}

// entriesText returns what is said of two builds behind the lines that name them.
func entriesText(t *testing.T, a, b build) string {
	t.Helper()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "cache")
	var out bytes.Buffer
	c := cli.Cache{App: &cli.App{Out: &out, Err: os.Stderr, Stream: &out}, Disk: disk.New(disk.Options{Dir: dir}), Settings: &settings.Settings{}}
	defer c.Disk.Close()
	var keys [2]string
	for i, of := range []build{a, b} {
		r := of.recipe(t)
		keys[i] = r.Key().String()
		e := &store.Entry{Key: r.Key(), Recipe: r, Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("code")}}, Cost: time.Second, Created: time.Now(),
		}}
		if _, err := c.Disk.Put(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := Entries(ctx, c, keys); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "\nB  ")
	_, text, _ = strings.Cut(text, "\n")
	return text
}

func TestEntries(t *testing.T) {
	t.Parallel()
	base := build{driver: "1", source: "line\nof code\n", options: "-DN=1 -UN -O2", header: 1, constant: 5}
	for _, tt := range []struct {
		name   string
		change func(b *build)
		want   string
	}{
		{"the same", func(*build) {}, "they are the same entry\n"},
		{"driver", func(b *build) { b.driver = "2" }, "the driver's version\n  driver \"2\" was \"1\"\n"},
		{"header", func(b *build) { b.header = 2 }, "a header\n  header \"c.h\" (/src/c.h) differs\n"},
		{"option", func(b *build) { b.options = "-DN=2 -UN -O2" }, "the build options\n  option \"-DN=2\" was \"-DN=1\"\n"},
		{"order", func(b *build) { b.options = "-UN -DN=1 -O2" }, "the build options\n  option \"-UN\" was \"-DN=1\"\n  option \"-DN=1\" was \"-UN\"\n"},
		{"constant", func(b *build) { b.constant = 6 }, "a specialization constant\n  constant 7: 0x06 was 0x05\n"},
		{"variable", func(b *build) { b.variables = []key.Pair{{Name: "V", Value: "1"}} }, "an environment variable\n  variable V=\"1\" is new\n"},
		{"source", func(b *build) { b.source = "other" }, "the source\n  code differs from line 1 on\n"},
		{
			"all", func(b *build) { *b = build{"2", "line\nof codes\n", "-DN=1 -UN", 1, 6, nil} },
			"the driver's version\n  driver \"2\" was \"1\"\nthe source\n  code differs from line 2 on\n" +
				"a specialization constant\n  constant 7: 0x06 was 0x05\nthe build options\n  option \"-O2\" is gone\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			other := base
			tt.change(&other)
			if d := cmp.Diff(tt.want, entriesText(t, base, other)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	const s = time.Second
	on := func(key, label string, spent time.Duration) runlog.Program {
		return runlog.Program{Key: key, Label: label, Outcome: runlog.Disk, Spent: spent}
	}
	not := func(key, label string, spent time.Duration, reason, nearest string) runlog.Program {
		return runlog.Program{Key: key, Label: label, Outcome: runlog.Compiled, Spent: spent, Reason: reason, Nearest: nearest}
	}
	write := func(programs ...runlog.Program) string {
		b, err := json.Marshal(map[string]any{"command": []string{"solver"}, "begun": time.Now(), "elapsed_ms": 1, "requests": programs})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := write(on("a1", "add", 1), on("a2", "mul", 1), on("a3", "both", 1), not("a4", "sum", 2*s, "miss.digest", ""), on("a5", "scan", 1), on("a6", "", 1))
	b := write(
		on("a3", "both", 1), on("a1", "add", 1), not("a1", "add", s, "miss.absent", `option "-DN=2" was "-DN=1"`), // by another process
		not("b2", "mul", 3*s, "miss.absent", `driver "2" was "1"`), on("b4", "sum", 1), not("", "time", 4*s, "not cacheable", ""),
	)
	var out bytes.Buffer
	if err := Runs(&cli.App{Out: &out, Stream: &out}, [2]string{a, b}); err != nil {
		t.Fatal(err)
	}
	want := `A  ` + a + `, solver: 6 programs, 5 loaded, 1 not, in 2.00 s
B  ` + b + `, solver: 5 programs, 2 loaded, 3 not, in 8.00 s
KEY           A         B              TOOK  KERNELS
–             –         compiled     4.00 s  time
              not cacheable
b2            disk      compiled     3.00 s  mul
              the keys differ; driver "2" was "1"
b4            compiled  disk         2.00 s  sum
              the keys differ; its entry was damaged
a1            disk      compiled     1.00 s  add
              option "-DN=2" was "-DN=1"
a6            disk      –              1 ns  –
a5            disk      –              1 ns  scan
1 program alike
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
