//go:build !nogpu

package cuda_test

import (
	"testing"

	"github.com/kernstash/kernstash/gpu/cuda"
)

// BenchmarkHit asks for a program that is in memory: by a prepared request, and by
// the request.
func BenchmarkHit(b *testing.B) {
	fake(b)
	_, x, done := openCached(b, privateDir(b), cuda.CachedOptions{})
	defer done()
	q, err := x.Request(saxpy())
	if err != nil {
		b.Fatal(err)
	}
	prepared, err := x.Prepare(q)
	if err != nil {
		b.Fatal(err)
	}
	for name, ask := range map[string]func() (*cuda.CachedProgram, error){
		"prepared": func() (*cuda.CachedProgram, error) { return prepared.Program(b.Context()) },
		"request":  func() (*cuda.CachedProgram, error) { return x.Program(b.Context(), q) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := ask()
				if err != nil {
					b.Fatal(err)
				}
				p.Release()
			}
		})
	}
}

// BenchmarkLaunch is what this package adds to a launch, with a driver that does
// nothing.
func BenchmarkLaunch(b *testing.B) {
	fake(b)
	c := open(b)
	m, err := c.LoadModule([]byte(".version 7.8\n.entry params_8_4()\n"))
	if err != nil {
		b.Fatal(err)
	}
	defer released(b, m)
	k, err := m.Kernel("params_8_4")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Launch(nil, []int{1}, []int{1}, cuda.Pointer(1), int32(2)); err != nil {
			b.Fatal(err)
		}
	}
}
