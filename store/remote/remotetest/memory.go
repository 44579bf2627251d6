// Package remotetest has an engine in memory, which fails as it is told, and checks of engines: an
// engine's own test is
//
//	func TestEngine(t *testing.T) {
//		remotetest.RunObjects(t, func(t *testing.T) remote.Objects { return open(t) })
//	}
package remotetest

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash/store/remote"
)

// Op is a call of an engine.
type Op string

// The calls.
const (
	Get     Op = "get"
	Put     Op = "put"
	Delete  Op = "delete"
	List    Op = "list"
	GetMany Op = "get many" // its round trip; what it gets counts as Get
	Acquire Op = "acquire"
	Renew   Op = "renew"
	Release Op = "release"
)

// Memory is an engine in memory: Objects, ManyGetter and Leaser. Set its fields before it is used.
// It is safe for concurrent use.
type Memory struct {
	// Fault, unless nil, is called at the beginning of each call, without a lock held. It may wait, for a latency or
	// until ctx ends as what hangs does; the call fails with the error that it returns, if any.
	Fault func(ctx context.Context, op Op, name string) error

	// Change, unless nil, may change what Get is about to return: it lies, or is damaged.
	Change func(name string, b []byte) []byte

	// MaxBytes is how much there is room for: beyond it, Put fails with ErrFull. 0: no limit.
	MaxBytes int64

	Now func() time.Time // the clock of leases; nil is time.Now

	mu      sync.Mutex
	objects map[string]stored
	bytes   int64
	leases  map[string]*lease
}

type stored struct {
	b        []byte
	modified time.Time
}

var (
	_ remote.Objects    = (*Memory)(nil)
	_ remote.ManyGetter = (*Memory)(nil)
	_ remote.Leaser     = (*Memory)(nil)
)

func (m *Memory) fault(ctx context.Context, op Op, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Fault == nil {
		return nil
	}
	return m.Fault(ctx, op, name)
}

// Hang waits for the end of ctx, and returns its error: it is for Memory.Fault.
func Hang(ctx context.Context, _ Op, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// Slow returns what waits for so long, for Memory.Fault.
func Slow(latency time.Duration) func(context.Context, Op, string) error {
	return func(ctx context.Context, _ Op, _ string) error {
		t := time.NewTimer(latency)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Get returns an object; see [remote.Objects].
func (m *Memory) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	if err := m.fault(ctx, Get, name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	o, there := m.objects[name]
	m.mu.Unlock()
	if !there {
		return nil, remote.ErrNotFound
	}
	b := bytes.Clone(o.b)
	if b == nil {
		b = []byte{}
	}
	if m.Change != nil {
		b = m.Change(name, b)
	}
	if int64(len(b)) > limit {
		return nil, remote.ErrTooLarge
	}
	return b, nil
}

// GetMany returns several; see [remote.ManyGetter].
func (m *Memory) GetMany(ctx context.Context, names []string, limit int64, got func(name string, b []byte, err error)) error {
	if err := m.fault(ctx, GetMany, ""); err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := m.Get(ctx, name, limit)
		got(name, b, err)
	}
	return nil
}

// Put writes an object; see [remote.Objects].
func (m *Memory) Put(ctx context.Context, name string, b []byte, replace bool) error {
	if err := m.fault(ctx, Put, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, there := m.objects[name]
	grown := int64(len(b) - len(old.b))
	switch {
	case there && !replace:
		return remote.ErrExists
	case m.MaxBytes > 0 && m.bytes+grown > m.MaxBytes:
		return remote.ErrFull
	}
	m.set(name, bytes.Clone(b))
	return nil
}

// set is called with m.mu held.
func (m *Memory) set(name string, b []byte) {
	if m.objects == nil {
		m.objects = make(map[string]stored)
	}
	m.bytes += int64(len(b) - len(m.objects[name].b))
	m.objects[name] = stored{b, time.Now()}
}

// Set writes an object behind everybody's back: no fault, no limit.
func (m *Memory) Set(name string, b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(name, bytes.Clone(b))
}

// Object returns an object behind everybody's back; nil: there is none.
func (m *Memory) Object(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.objects[name].b)
}

// Names returns the names of all objects, sorted.
func (m *Memory) Names() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.objects {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Delete removes an object; see [remote.Objects].
func (m *Memory) Delete(ctx context.Context, name string) error {
	if err := m.fault(ctx, Delete, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes -= int64(len(m.objects[name].b))
	delete(m.objects, name)
	return nil
}

// List yields objects; see [remote.Objects].
func (m *Memory) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	return func(yield func(remote.Object, error) bool) {
		if err := m.fault(ctx, List, prefix); err != nil {
			yield(remote.Object{}, err)
			return
		}
		for _, name := range m.Names() {
			if err := ctx.Err(); err != nil {
				yield(remote.Object{}, err)
				return
			}
			m.mu.Lock()
			o, there := m.objects[name]
			m.mu.Unlock()
			if there && strings.HasPrefix(name, prefix) && !yield(remote.Object{Name: name, Size: int64(len(o.b)), Modified: o.modified}, nil) {
				return
			}
		}
	}
}

// Close does nothing.
func (m *Memory) Close() error { return nil }

// lease is one that is held. Its fields are guarded by m.mu.
type lease struct {
	m    *Memory
	name string
	end  time.Time
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Acquire takes a lease; see [remote.Leaser].
func (m *Memory) Acquire(ctx context.Context, name string, ttl time.Duration) (remote.Lease, error) {
	if err := m.fault(ctx, Acquire, name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if held := m.leases[name]; held != nil && m.now().Before(held.end) {
		return nil, remote.ErrHeld
	}
	l := &lease{m, name, m.now().Add(ttl)}
	if m.leases == nil {
		m.leases = make(map[string]*lease)
	}
	m.leases[name] = l
	return l, nil
}

func (l *lease) Renew(ctx context.Context, ttl time.Duration) error {
	if err := l.m.fault(ctx, Renew, l.name); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.leases[l.name] != l || !l.m.now().Before(l.end) {
		return remote.ErrLost
	}
	l.end = l.m.now().Add(ttl)
	return nil
}

func (l *lease) Release(ctx context.Context) error {
	if err := l.m.fault(ctx, Release, l.name); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.leases[l.name] == l {
		delete(l.m.leases, l.name)
	}
	return nil
}
