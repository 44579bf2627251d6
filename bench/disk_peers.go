package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/peterbourgon/diskv/v3"
	"github.com/rogpeppe/go-internal/cache"
	"go.etcd.io/bbolt"
)

// diskPeer is somebody else's store, used as a cache of files: by a key of 32
// bytes, and with a value that the caller may keep.
type diskPeer struct {
	name    string
	putName string
	checks  bool // its get checks a SHA-256 of the value
	get     func(k [32]byte) []byte
	put     func(k [32]byte, b []byte)
	settle  func() // after filling; may be nil
}

// hits is a peer's get, checked with a SHA-256 by its caller or not.
func (p *diskPeer) hits(check bool) peer {
	var keys [hotEntries][32]byte
	var sums [hotEntries][32]byte
	for i := range keys {
		keys[i], sums[i] = digest(i), sha256.Sum256(code(i, artifactSize))
	}
	name := p.name
	switch {
	case check:
		name += " + SHA-256"
	case p.checks:
		name += " (checks a SHA-256)"
	}
	return peer{name, func(n int) {
		for i := range n {
			b := p.get(keys[i%hotEntries])
			if len(b) != artifactSize || check && sha256.Sum256(b) != sums[i%hotEntries] {
				panic(name + ": wrong value")
			}
		}
	}}
}

func diskPeers(s *setting) ([]diskPeer, error) {
	goCache, err := goCachePeer(filepath.Join(s.dir, "go-cache"))
	if err != nil {
		return nil, err
	}
	bolt, err := boltPeer(s, filepath.Join(s.dir, "bolt"))
	if err != nil {
		return nil, err
	}
	badger, err := badgerPeer(s, filepath.Join(s.dir, "badger"))
	if err != nil {
		return nil, err
	}
	return []diskPeer{goCache, diskvPeer(filepath.Join(s.dir, "diskv")), bolt, badger}, nil
}

// goCachePeer is the build cache of cmd/go, as go-internal publishes it: an
// action file that names an output file by its digest.
func goCachePeer(dir string) (diskPeer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return diskPeer{}, err
	}
	c, err := cache.Open(dir)
	if err != nil {
		return diskPeer{}, err
	}
	return diskPeer{
		name: "cmd/go's cache", putName: "cmd/go's cache (no rename)", checks: true,
		get: func(k [32]byte) []byte {
			b, _, err := c.GetBytes(cache.ActionID(k))
			return must(b, err)
		},
		put: func(k [32]byte, b []byte) {
			if err := c.PutBytes(cache.ActionID(k), b); err != nil {
				panic(err)
			}
		},
	}, nil
}

// diskvPeer is diskv without its memory cache, with directories of two levels,
// and with temporary files, so that a value appears whole.
func diskvPeer(dir string) diskPeer {
	d := diskv.New(diskv.Options{
		BasePath: dir, TempDir: dir + "-tmp",
		Transform: func(k string) []string { return []string{k[:2], k[2:4]} },
	})
	return diskPeer{
		name: "diskv", putName: "diskv, a temporary and a rename",
		get: func(k [32]byte) []byte { return must(d.Read(hex.EncodeToString(k[:]))) },
		put: func(k [32]byte, b []byte) {
			if err := d.Write(hex.EncodeToString(k[:]), b); err != nil {
				panic(err)
			}
		},
	}
}

// boltPeer is bbolt without forcing anything to the medium, as we do not
// either; but a crash of the system may then damage all of its one file.
func boltPeer(s *setting, dir string) (diskPeer, error) {
	db, err := bbolt.Open(dir, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return diskPeer{}, err
	}
	s.atEnd(func() { _ = db.Close() })
	name := []byte("b")
	if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(name); return err }); err != nil {
		return diskPeer{}, err
	}
	return diskPeer{
		name: "bbolt", putName: "bbolt, a transaction, nothing synced",
		get: func(k [32]byte) (b []byte) {
			err := db.View(func(tx *bbolt.Tx) error {
				b = append(make([]byte, 0, artifactSize), tx.Bucket(name).Get(k[:])...)
				return nil
			})
			return must(b, err)
		},
		put: func(k [32]byte, b []byte) {
			if err := db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(name).Put(k[:], b) }); err != nil {
				panic(err)
			}
		},
	}, nil
}

// badgerPeer is badger with its defaults, which do not sync, and without
// compression. It is opened anew after filling, so that hits do not come from
// the table in memory that was just written.
func badgerPeer(s *setting, dir string) (diskPeer, error) {
	o := badger.DefaultOptions(dir).WithLogger(nil).WithCompression(options.None).WithBlockCacheSize(0)
	db, err := badger.Open(o)
	if err != nil {
		return diskPeer{}, err
	}
	s.atEnd(func() { _ = db.Close() })
	return diskPeer{
		name: "badger", putName: "badger, a transaction, nothing synced",
		get: func(k [32]byte) (b []byte) {
			err := db.View(func(tx *badger.Txn) error {
				item, err := tx.Get(k[:])
				if err == nil {
					b, err = item.ValueCopy(make([]byte, 0, artifactSize))
				}
				return err
			})
			return must(b, err)
		},
		put: func(k [32]byte, b []byte) {
			if err := db.Update(func(tx *badger.Txn) error { return tx.Set(k[:], b) }); err != nil {
				panic(err)
			}
		},
		settle: func() {
			if err := db.Close(); err != nil {
				panic(fmt.Errorf("badger: %w", err))
			}
			db = must(badger.Open(o))
		},
	}, nil
}
