package kernstash

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// fakeStarter counts what it is told.
type fakeStarter struct{ starts, closes int }

func (s *fakeStarter) Start() { s.starts++ }
func (s *fakeStarter) Close() { s.closes++ }

// TestStarter: what Close has no time to capture is a job, of which the program's Starter
// hears, if there is one.
func TestStarter(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(s *fakeStarter, at *[]Jobs) func(Jobs) Starter{
		"one": func(s *fakeStarter, at *[]Jobs) func(Jobs) Starter {
			return func(j Jobs) Starter { *at = append(*at, j); return s }
		},
		"none": func(*fakeStarter, *[]Jobs) func(Jobs) Starter { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			var s fakeStarter
			var at []Jobs
			c := openCache(t, root, func(o *Options) {
				o.Starter = made(&s, &at)
				o.Flags = map[string]string{"capture-quiet": "1h", "close-timeout": "1ns", "worker": "inline", "max-size": "1GiB"}
			})
			f := deferring(t)
			f.delegates = true
			launch(t, fakeContextOn(c, f), Request{Image: image(t, src(1))}, "k1/8-1-1").Release()
			if !c.cache().Engine().Flush(time.Now().Add(time.Minute)) { // what Close would not wait for
				t.Fatal("not written in time")
			}
			var dropped *DroppedError
			if err := c.Close(); !errors.As(err, &dropped) || len(dropped.Captures) != 1 {
				t.Fatalf("Close: %v", err)
			}
			d := disk.New(disk.Options{Dir: root})
			defer d.Close()
			if jobs, err := spool.List(t.Context(), d); err != nil || len(jobs) != 1 {
				t.Errorf("%d jobs, %v", len(jobs), err)
			}
			if name == "none" {
				return
			}
			if s.starts != 1 || s.closes != 1 || len(at) != 1 {
				t.Fatalf("%+v, %d made", s, len(at))
			}
			if to, ok := at[0].Store.(*disk.Store); !ok || to.Dir() != root || at[0].Policy != "inline" || !slices.Contains(at[0].Settings, "KERNSTASH_MAX_SIZE=1GiB") {
				t.Errorf("%+v", at[0])
			}
		})
	}
}
