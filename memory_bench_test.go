package kernstash

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/kernstash/kernstash/key"
)

// benchContext returns a context with n programs in memory, and a request for
// each.
func benchContext(b *testing.B, n int) (*fakeContext, []*Prepared[*fakeProgram, *fakeKernel]) {
	c := openCache(b, "", func(o *Options) { o.MemoryPrograms = n })
	x := fakeContextOn(c, newFake(b))
	all := make([]*Prepared[*fakeProgram, *fakeKernel], n)
	for i := range all {
		q, err := x.Prepare(Request{Image: image(b, src(i)), CompileOptions: "-DN=4 -cl-fast-relaxed-math"})
		if err != nil {
			b.Fatal(err)
		}
		p, err := q.Program(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
		all[i] = q
	}
	return x, all
}

// spread runs b.N operations on g goroutines.
func spread(b *testing.B, g int, op func(i int)) {
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for w := range g {
		all.Go(func() {
			for i := w; i < b.N; i += g {
				op(i)
			}
		})
	}
	all.Wait()
}

func sizes(b *testing.B, f func(b *testing.B, keys, goroutines int)) {
	for _, keys := range []int{1, 4096} {
		for _, g := range []int{1, 8} {
			b.Run(fmt.Sprintf("keys=%d/goroutines=%d", keys, g), func(b *testing.B) { f(b, keys, g) })
		}
	}
}

// BenchmarkMemoryHit acquires, uses and releases a program whose key is at
// hand.
func BenchmarkMemoryHit(b *testing.B) {
	sizes(b, func(b *testing.B, keys, g int) {
		_, all := benchContext(b, keys)
		ctx := b.Context()
		spread(b, g, func(i int) {
			p, err := all[i&(keys-1)].Program(ctx)
			if err != nil {
				b.Error(err)
				return
			}
			if n, err := p.Native(0); err != nil || n == nil {
				b.Error(err)
			}
			p.Release()
		})
	})
}

// BenchmarkXsyncHit is the floor: a bare hit in the map that the tier uses.
func BenchmarkXsyncHit(b *testing.B) {
	sizes(b, func(b *testing.B, keys, g int) {
		m := xsync.NewMap[key.Digest, *fakeProgram]()
		all := make([]key.Digest, keys)
		for i := range all {
			all[i] = image(b, src(i)).Digest()
			m.Store(all[i], &fakeProgram{})
		}
		spread(b, g, func(i int) {
			if p, ok := m.Load(all[i&(keys-1)]); !ok || p == nil {
				b.Error("miss")
			}
		})
	})
}

// BenchmarkRequestHit finds a program by the fields of a request for a live
// image, and its kernel.
func BenchmarkRequestHit(b *testing.B) {
	c := openCache(b, "")
	x := fakeContextOn(c, newFake(b))
	r := Request{
		Image: image(b, src(1)), CompileOptions: "-DN=4 -cl-fast-relaxed-math",
		Constants: []key.SpecConstant{key.Uint32(1, 2), key.Uint32(3, 4)},
	}
	ctx := b.Context()
	p, err := x.Program(ctx, r)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	b.ReportAllocs()
	for b.Loop() {
		p, err := x.Program(ctx, r)
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

// BenchmarkKernelHit finds a kernel of a program at hand.
func BenchmarkKernelHit(b *testing.B) {
	c := openCache(b, "")
	x := fakeContextOn(c, newFake(b))
	ctx := b.Context()
	p, err := x.Program(ctx, Request{Image: image(b, src(1))})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	b.ReportAllocs()
	for b.Loop() {
		k, err := p.Kernel(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		k.Release()
	}
}

// The hot path allocates nothing.
func TestHitsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates by itself: counted in the build without it")
		return
	}
	c := openCache(t, "")
	x := fakeContextOn(c, newFake(t))
	r := Request{Image: image(t, src(1)), CompileOptions: "-DN=4", Constants: []key.SpecConstant{key.Uint32(1, 2)}}
	q, err := x.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	k, err := x.Kernel(t.Context(), r, "k")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	ctx := t.Context()
	for name, hit := range map[string]func(){
		"by fields": func() {
			p, err := x.Program(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		},
		"prepared": func() {
			p, err := q.Program(ctx)
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		},
		"kernel": func() {
			k, err := x.Kernel(ctx, r, "k")
			if err != nil {
				t.Fatal(err)
			}
			k.Release()
		},
	} {
		if n := testing.AllocsPerRun(1000, hit); n != 0 {
			t.Errorf("%s: %v allocations a hit, want none", name, n)
		}
	}
	runtime.KeepAlive(x)
}
