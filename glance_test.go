package kernstash

import (
	"testing"
	"time"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// A glance finds what is stored for all devices, counts nothing until it is made
// use of, and finds nothing that Program would not serve.
func TestGlance(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	run(t, root, newFake(t), nil, Request{Image: image(t, src(1))}, Request{Image: image(t, "kernel void k() { __TIME__; }")})
	two := newFake(t)
	two.devices = append(two.devices, two.devices[0])
	two.devices[1].Name = "another"
	for _, c := range []struct {
		name string
		f    *fakeRuntime
		mode string
		r    Request
		want int
	}{
		{"stored", newFake(t), "", Request{Image: image(t, src(1))}, 1},
		{"read-only", newFake(t), "read-only", Request{Image: image(t, src(1))}, 1},
		{"observe", newFake(t), "observe", Request{Image: image(t, src(1))}, 0},
		{"refresh", newFake(t), "refresh", Request{Image: image(t, src(1))}, 0},
		{"not stored", newFake(t), "", Request{Image: image(t, src(2))}, 0},
		{"not cacheable", newFake(t), "", Request{Image: image(t, "kernel void k() { __TIME__; }")}, 0},
		{"header files", newFake(t), "", Request{Image: image(t, "#include \"x.h\"\n")}, 0},
		{"for one of two devices", two, "", Request{Image: image(t, src(1))}, 0},
		{"for the one", two, "", Request{Image: image(t, src(1)), Devices: []int{0}}, 1},
		{"no such device", newFake(t), "", Request{Image: image(t, src(1)), Devices: []int{5}}, 0},
	} {
		var told decisions
		cache := openCache(t, root, func(o *Options) { o.Mode = c.mode })
		x := NewContext[*fakeProgram, *fakeKernel](cache, c.f, ContextOptions{Decided: told.take})
		found := x.Glance(t.Context(), c.r)
		if len(found) != c.want {
			t.Errorf("%s: %d found, want %d", c.name, len(found), c.want)
			continue
		}
		if s := cache.Stats(); s[stats.DiskHits] != 0 || s[stats.DiskMisses] != 0 || s[stats.Of(reason.ObserveHits)] != 0 {
			t.Errorf("%s: counted: %v", c.name, s)
		}
		for _, f := range found {
			x.Restored(f, time.Millisecond)
		}
		s := cache.Stats()
		if s[stats.DiskHits] != int64(c.want) || s[stats.LoadTime] != int64(c.want)*int64(time.Millisecond) || len(told.all) != c.want {
			t.Errorf("%s: %d hits, %d ns, %d told", c.name, s[stats.DiskHits], s[stats.LoadTime], len(told.all))
		}
		if c.want == 1 && (told.all[0].Origin != Disk || told.all[0].Key != found[0].Job.Key) {
			t.Errorf("%s: told %+v", c.name, told.all[0])
		}
		c.f.wantBuilds(0)
	}
	c := openCache(t, root)
	x := fakeContextOn(c, newFake(t))
	_ = c.Close()
	if found := x.Glance(t.Context(), Request{Image: image(t, src(1))}); found != nil {
		t.Error("a closed cache finds something")
	}
}
