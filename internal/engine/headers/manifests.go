package headers

import (
	"context"
	"errors"
	"sync"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxManifests bounds the bytes of manifests that a process remembers.
const maxManifests = 4 << 20

// manifests are those that this process has seen, encoded: an application that makes an
// image again and again reads none from disk.
type manifests struct {
	mu    sync.Mutex
	bytes int
	known map[key.Digest][]byte
}

// scanning is a scan under way, that others may wait for.
type scanning struct {
	done        chan struct{}
	uncacheable reason.Uncacheable // read once it is done
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

// loadManifest returns the manifest of a name, from memory or from the store; nil if
// there is none, or it makes no sense. Read-only layers have none: paths and times are
// those of one machine.
func (f *Finder) loadManifest(name key.Digest) *manifest.Manifest {
	b := f.manifests.load(name)
	known := b != nil
	if !known {
		if f.o.Blobs == nil || f.o.Refresh {
			return nil
		}
		var err error
		if b, err = f.o.Blobs.GetBlob(context.Background(), store.Manifests, name); err != nil {
			if miss, ok := errors.AsType[*store.MissError](err); !ok || miss.Reason != reason.MissAbsent {
				f.o.Disk.Debug("manifest not read", "name", name.Dir(), "reason", err.Error())
			}
			return nil
		}
	}
	m, err := manifest.Parse(b, name)
	if err != nil {
		f.count(stats.Corrupt)
		f.o.Warn("manifest damaged", "name", name.Dir(), "reason", err.Error())
		return nil
	}
	if !known {
		f.manifests.store(name, b)
	}
	return m
}

// keepManifest remembers a manifest, and has it written off the caller's path.
func (f *Finder) keepManifest(m *namedManifest) {
	b := m.m.Append(nil, m.name)
	f.manifests.store(m.name, b)
	f.o.Keep(m.name, b)
}
