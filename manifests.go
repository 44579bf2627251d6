package kernstash

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxManifests bounds the bytes of manifests that a process remembers.
const maxManifests = 4 << 20

// manifests are those that this process has seen, encoded: an application that
// makes an image again and again reads none from disk.
type manifests struct {
	mu    sync.Mutex
	bytes int
	known map[key.Digest][]byte
	scans map[key.Digest]*scan // in flight
}

// scan is one that others may wait for.
type scan struct {
	done    chan struct{}
	against deps.Reason // read once it is done
}

// begin notes that the caller scans, until it calls end; or it returns the scan
// of somebody else for the same manifest.
func (k *manifests) begin(name key.Digest) (mine, other *scan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if other = k.scans[name]; other != nil {
		return nil, other
	}
	if k.scans == nil {
		k.scans = make(map[key.Digest]*scan)
	}
	mine = &scan{done: make(chan struct{})}
	k.scans[name] = mine
	return mine, nil
}

func (k *manifests) end(name key.Digest, s *scan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.scans, name)
	close(s.done)
}

func (k *manifests) load(name key.Digest) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[name]
}

// store remembers b, and forgets any others that there is no room for.
func (k *manifests) store(name key.Digest, b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = make(map[key.Digest][]byte)
	}
	k.bytes += len(b) - len(k.known[name])
	k.known[name] = b
	for other, bytes := range k.known {
		if k.bytes <= maxManifests {
			break
		}
		delete(k.known, other)
		k.bytes -= len(bytes)
	}
}

// loadManifest returns the manifest of a name, from memory or from disk; nil if
// there is none, or it makes no sense. Read-only layers have none: paths and times
// are those of one machine. One from disk is unverified, for [Cache.verifyManifest]:
// that takes as long as reading it, and may be done while others look at its files.
func (c *Cache) loadManifest(name key.Digest) (m *deps.Manifest, unverified []byte) {
	b := c.manifests.load(name)
	if b == nil && c.written != nil && c.settings.Mode != settings.ModeRefresh {
		var err error
		if b, err = c.written.GetBlob(context.Background(), store.Manifests, name); err != nil {
			if !isAbsent(err) {
				on(c.trace.disk, func(l *slog.Logger) { l.Debug("manifest not read", "name", name.Dir(), "reason", err.Error()) })
			}
			return nil, nil
		}
		unverified = b
	}
	if b == nil {
		return nil, nil
	}
	m, err := deps.ReadManifest(b)
	if err != nil {
		c.manifestDamaged(name, err)
		return nil, nil
	}
	return m, unverified
}

// verifyManifest says whether a manifest from disk is whole, and remembers it then.
func (c *Cache) verifyManifest(name key.Digest, b []byte) bool {
	if err := deps.VerifyManifest(b, name); err != nil {
		c.manifestDamaged(name, err)
		return false
	}
	c.manifests.store(name, b)
	return true
}

func (c *Cache) manifestDamaged(name key.Digest, err error) {
	c.stats.Add(stats.Corrupt, 1)
	c.trace.warn("manifest damaged", "name", name.Dir(), "reason", err.Error())
}

func isAbsent(err error) bool {
	var miss *store.MissError
	return errors.As(err, &miss) && miss.Reason == reason.MissAbsent
}

// keepManifest remembers a manifest, and has it written off the caller's path.
func (c *Cache) keepManifest(m *manifest) {
	b := m.m.Append(nil, m.name)
	c.manifests.store(m.name, b)
	if !c.Writes() {
		return
	}
	c.storer.add(storing{manifest: b, name: m.name})
}
