//go:build !nogpu

package layer_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// BenchmarkHit is a hit of a one-line kernel on Intel's driver, begun, said to be
// restored and ended; and what the disk tier alone takes for it.
func BenchmarkHit(b *testing.B) {
	root := filepath.Join(b.TempDir(), "root")
	l := openLayer(b, root)
	h := newHost(b, l, device(b, "INTEL"))
	h.build(source(1), &none)
	counted(b, l, stats.DiskPuts, 1)
	l.Settle()
	s := disk.New(disk.Options{Dir: root})
	defer s.Close()
	r := h.request(source(1), &none)
	b.Run("disk", func(b *testing.B) {
		info := infos(b, s)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Get(b.Context(), info); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("layer", func(b *testing.B) {
		b.ReportAllocs()
		outcome := []layer.Outcome{{Result: front.Restored}}
		for b.Loop() {
			ticket, reply, ok := l.Ask(r)
			for !ok {
				reply, ok = ticket.Wait(time.Second)
			}
			if len(reply.Artifacts[0].Binary) == 0 {
				b.Fatal("no hit")
			}
			ticket.Next(outcome)
			ticket.End()
			l.Settle() // else the next one may share this one's
		}
	})
}

// infos returns the key of the only entry.
func infos(b *testing.B, s *disk.Store) key.Key {
	for i, err := range s.List(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		return i.Key
	}
	b.Fatal("no entry")
	return key.Key{}
}
