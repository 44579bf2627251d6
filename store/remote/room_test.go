package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// sized is an engine whose objects have the size that their names say, or none that it knows. Each of their
// bytes takes 1 ms.
type sized struct {
	Objects
	sizes   map[string]int
	unknown bool

	mu        sync.Mutex
	now, most int // bytes that are being read, or are with who asked
}

func (z *sized) Get(ctx context.Context, name string, _ int64) ([]byte, error) {
	size, total := z.sizes[name], int64(z.sizes[name])
	if z.unknown {
		total = -1
	}
	b := make([]byte, size)
	_, err := io.ReadFull(store.Flowing(ctx, &slowly{z, bytes.NewReader(b)}, total), b)
	if err != nil {
		return nil, errors.New(err.Error()) // of engines the text alone is left, if need be
	}
	return b, nil
}

// done says that an object is not in memory any more.
func (z *sized) done(size int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.now -= size
}

type slowly struct {
	z *sized
	r io.Reader
}

func (s *slowly) Read(b []byte) (int, error) {
	n, err := s.r.Read(b[:min(len(b), 10)])
	time.Sleep(time.Duration(n) * time.Millisecond)
	s.z.mu.Lock()
	defer s.z.mu.Unlock()
	s.z.now += n
	s.z.most = max(s.z.most, s.z.now)
	return n, err
}

// The bytes of objects that are read at one time are bounded, but for one that is alone. Where the engine knows how
// many there are, all are got.
func TestRoom(t *testing.T) {
	t.Parallel()
	const most = 1000
	for name, tt := range map[string]struct {
		sizes   []int
		unknown bool
		got     int           // at most, where it is unknown how large they are
		took    time.Duration // at most
	}{
		"small":            {[]int{10, 10, 10, 10, 10, 10, 10, 10}, false, 8, 10 * time.Millisecond},
		"four at a time":   {[]int{120, 120, 120, 120, 120, 120, 120, 120}, false, 8, 240 * time.Millisecond},
		"one at a time":    {[]int{300, 300, 300}, false, 3, 900 * time.Millisecond},
		"larger than room": {[]int{1500, 1500, 10}, false, 3, 3010 * time.Millisecond},
		"unknown":          {[]int{10, 10, 10, 10}, true, 4, 10 * time.Millisecond},
		"unknown, large":   {[]int{400, 400, 400}, true, 1, time.Second},
		"unknown, alone":   {[]int{1500}, true, 1, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				z := &sized{sizes: make(map[string]int), unknown: tt.unknown}
				s := New(z, Options{})
				s.room.most = most
				var names []string
				bound := most / 2
				for i, size := range tt.sizes {
					name := strconv.Itoa(i)
					names = append(names, name)
					z.sizes[name] = size
					bound = max(bound, size)
				}
				got, begin := 0, time.Now()
				s.readMany(t.Context(), names, func(name string, b []byte, err error) {
					switch {
					case err == nil:
						got++
						s.room.mu.Lock()
						if s.room.used < int64(len(b)) {
							t.Error("what is with who asked takes no room")
						}
						s.room.mu.Unlock()
						z.done(len(b))
					case !errors.Is(err, store.ErrBusy):
						t.Error(err)
					}
				})
				if got > tt.got || got < tt.got && !tt.unknown || time.Since(begin) > tt.took {
					t.Errorf("%d are got after %v; want %d, %v", got, time.Since(begin), tt.got, tt.took)
				}
				if !tt.unknown && z.most > bound {
					t.Errorf("%d bytes at one time, want %d", z.most, bound)
				}
				if s.room.used != 0 {
					t.Errorf("%d bytes are taken still", s.room.used)
				}
			})
		})
	}
}

// Who waits for an object finds room beside those that nobody waits for, or none at once, which is no trouble of
// the remote.
func TestRoomForOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := key.New(key.Digest{1}, key.Digest{2}, key.Digest{3}, key.Digest{4})
		z := &sized{sizes: map[string]int{"a": 450, "b": 450, "c": 450}}
		s := New(z, Options{})
		s.room.most = 1000
		z.sizes[s.Name(k)] = 400
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.readMany(t.Context(), []string{"a", "b", "c"}, func(string, []byte, error) {})
		}()
		time.Sleep(5 * time.Millisecond)
		if _, err := s.Get(t.Context(), k); err == nil || errors.Is(err, store.ErrBusy) { // nothing but zeros
			t.Errorf("beside many: %v", err)
		}
		z.sizes[s.Name(k)] = 600
		begin := time.Now()
		if _, err := s.Get(t.Context(), k); !errors.Is(err, store.ErrBusy) || !errors.Is(err, store.ErrNotFound) || time.Since(begin) != 0 {
			t.Errorf("without room: %v after %v", err, time.Since(begin))
		}
		<-done
		// Who gives up waiting leaves nothing taken.
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		s.readMany(ctx, []string{"a", "b", "c"}, func(string, []byte, error) {})
		if s.room.used != 0 {
			t.Errorf("%d bytes are taken still", s.room.used)
		}
	})
}
