package kernstash

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// What can be done before there is an artifact is done while the compiler is busy: the
// application may wait for the rest.
func TestWorkAhead(t *testing.T) {
	t.Parallel()
	c := openCache(t, newRoot(t))
	f := newFake(t)
	x := fakeContextOn(c, f)
	use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DN=4"})
	if !c.Flush(3 * time.Minute) {
		t.Fatal("not stored")
	}

	built := false
	f.build = func(context.Context, Job) error {
		built = true
		if !c.Flush(3 * time.Minute) {
			t.Error("the work ahead does not end")
		}
		_, err := onDisk(c).Clear(context.Background(), nil, nil) // nothing is near any more
		return err
	}
	use(t, x, Request{Image: image(t, src(1)), CompileOptions: "-DN=8"})
	c.Flush(3 * time.Minute)
	if s := c.Stats(); !built || s[stats.Of(reason.NearestOptions)] != 1 || s[stats.Of(reason.NearestNothing)] != 1 || s[stats.DiskPuts] != 2 {
		t.Errorf("built %t; %v", built, s)
	}
}

// A build that fails is not explained, and leaves nothing of its program.
func TestWorkAheadOfAFailure(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	c := openCache(t, root)
	f := newFake(t)
	x := fakeContextOn(c, f)
	f.build = func(context.Context, Job) error {
		c.Flush(3 * time.Minute)
		return &BuildError{Log: "no"}
	}
	if _, err := x.Program(t.Context(), Request{Image: image(t, src(1))}); err == nil {
		t.Fatal("built")
	}
	c.Flush(3 * time.Minute)
	if s := c.Stats(); s[stats.Of(reason.NearestNothing)] != 0 {
		t.Errorf("explained: %v", s)
	}
	if left, err := filepath.Glob(filepath.Join(root, "[0-9a-f]*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
