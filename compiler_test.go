package kernstash

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// A compiler of one's own has its header files tracked where it says where it
// looks for them.
func TestCompilerWithHeaders(t *testing.T) {
	t.Parallel()
	root, dir := newRoot(t), deepTree(t)
	compiled := 0
	run := func(known bool) (string, stats.Snapshot) {
		t.Helper()
		own := Compiler{
			Device: key.Device{API: "own", Name: "expander", Version: "1"},
			Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) {
				compiled++
				return []byte(expand(string(r.Image.Units()[0].Code), "", includeDirs(r.Options.CompileString()))), nil
			},
		}
		if known {
			own.Headers = func(string) (deps.Search, error) { return deps.Search{}, nil }
		}
		c := openCache(t, root)
		x := NewContext(c, own, ContextOptions{})
		p, err := x.Program(t.Context(), deepRequest(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		out, err := p.Native(0)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return string(out), c.Stats()
	}
	if _, s := run(false); s[stats.Of(reason.NotCacheableHeaders)] != 1 || s[stats.DiskPuts] != 0 {
		t.Errorf("not known: %v", s)
	}
	first, _ := run(true)
	if again, s := run(true); again != first || s[stats.DiskHits] != 1 || s[stats.HeadersChecked] != 1 {
		t.Errorf("again: %q, %v", again, s)
	}
	putFile(t, filepath.Join(dir, "late/c.h"), "C\n")
	if now, _ := run(true); now == first || compiled != 3 {
		t.Errorf("edited: %q, compiled %d times", now, compiled)
	}
}
