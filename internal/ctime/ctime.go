// Package ctime says where a file's change time can be believed.
//
// Whoever remembers what a file holds by its stamp (size, times, device, inode) relies on a change
// time that only a change sets, to the time of the change. The file systems that people write to
// locally keep one. An image that is made elsewhere (squashfs, erofs, iso9660, any file system that
// is mounted read-only) holds the times that its maker put there; vfat, FUSE, NFS, 9p and others
// show a time that an application or a server sets. There a file has to be read.
package ctime

import (
	"sync"
	"time"
)

// Trusted reports whether the file that path leads to, which has the device number device
// (of stat), is on a file system whose change times nobody can set. Where that is not
// known it reports false. It looks at a device number at most once a second: another file
// system may get the number of one that was unmounted. Safe for concurrent use.
func Trusted(path string, device uint64) bool { return ofProcess.trusted(path, device, time.Now()) }

// Settled reports whether a file with these times (nanoseconds since 1970), which was looked at
// at the time now, would show a later change in them. After its last change a file may change again
// for a while without that: two seconds on the coarsest file systems (FAT), and one for the
// clock of a file server that is behind ours.
func Settled(now time.Time, mtime, ctime int64) bool {
	limit := now.Add(-3 * time.Second).UnixNano()
	return mtime <= limit && ctime <= limit
}

// grain is how far a change time may lie behind the clock: the kernel takes that of its last tick.
const grain = 10 * time.Millisecond

// Before reports whether the file or directory that path leads to, which has the device number
// device and these times, was last changed before the time began, by now or by whatever was
// started then. Where the clock of this machine sets change times that is known to a tick of it.
func Before(began time.Time, path string, device uint64, mtime, ctime int64) bool {
	if local.trusted(path, device, time.Now()) {
		if ctime%1e9 == 0 { // of an ext4 that keeps seconds
			began = began.Add(-time.Second)
		}
		return ctime < began.Add(-grain).UnixNano()
	}
	return Settled(began, mtime, ctime)
}

// Grain is the longest time that a file has to lie unchanged for Before to say so.
const Grain = 2 * grain

var local = cache{ask: isLocal}

var ofProcess = cache{ask: system}

// again is how long an answer holds.
const again = time.Second

// cache holds the answers by device number.
type cache struct {
	mu      sync.Mutex
	devices map[uint64]answer
	ask     func(path string, device uint64) bool
}

type answer struct {
	trusted bool
	at      time.Time
}

func (c *cache) trusted(path string, device uint64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.devices[device]; ok && now.Sub(a.at) < again {
		return a.trusted
	}
	if c.devices == nil {
		c.devices = make(map[uint64]answer)
	}
	trusted := c.ask(path, device)
	c.devices[device] = answer{trusted, now}
	return trusted
}
