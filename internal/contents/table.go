package contents

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Shared is where processes keep the table of digests for each other. What it returns may
// be damaged. Its methods are safe for concurrent use.
type Shared interface {
	ReadDigests() ([]byte, error)
	WriteDigests([]byte) error
}

// place is a file as it was.
type place struct {
	path string
	Stamp
}

// digest is what a file holds.
type digest struct {
	text  string
	mount string // it holds for this mount of an image only, see imageOf; "": wherever the stamp is the same
	share bool   // it may be used by other processes, or comes from one
}

// onMount is a file as it was, on a mount as digest has it: nodes that share a table may have
// one image each.
type onMount struct {
	place
	mount string
}

// table holds digests by place.
type table struct {
	mu      sync.Mutex
	digests map[place]digest   // what the process has read or used
	others  map[onMount]string // what other processes have read
	derived map[string]string  // what was derived from contents, by [Derived]'s kind and digest, and used by the process
	foreign map[string]string  // what other processes have derived
	unread  []Shared           // whose tables were not needed so far
	to      Shared             // gets what is new; nil: nobody
}

var known table

// Share has the process use the table of s, and, where write is set, add to it. The table
// is read when a digest is first asked for that the process does not know.
func Share(s Shared, write bool) {
	known.mu.Lock()
	defer known.mu.Unlock()
	known.unread = append(known.unread, s)
	if write {
		known.to = s
	}
}

// Unshare has the process use the table of s no longer. What it has read stays. It waits for
// what is being written to s.
func Unshare(s Shared) {
	saving.Lock()
	defer saving.Unlock()
	known.mu.Lock()
	defer known.mu.Unlock()
	known.unread = slices.DeleteFunc(known.unread, func(o Shared) bool { return o == s })
	if known.to == s {
		known.to = nil
	}
}

// own returns what the process knows itself.
func (t *table) own(k place) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.digests[k]
	return d.text, ok
}

// shared returns what another process knows of a file on this mount.
func (t *table) shared(k place, mount string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, ok := t.others[onMount{k, mount}]
	for !ok && t.readNext() {
		text, ok = t.others[onMount{k, mount}]
	}
	if ok {
		t.set(k, digest{text, mount, true})
	}
	return text, ok
}

func (t *table) put(k place, d digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(k, d)
	if d.share {
		unsaved.Store(true)
	}
}

func (t *table) set(k place, d digest) {
	if t.digests == nil {
		t.digests = make(map[place]digest)
	}
	t.digests[k] = d
}

// derivation returns what was derived from a content.
func (t *table) derivation(key string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, ok := t.derived[key]
	if ok {
		return text, true
	}
	text, ok = t.foreign[key]
	for !ok && t.readNext() {
		text, ok = t.foreign[key]
	}
	if ok {
		t.setDerivation(key, text)
	}
	return text, ok
}

// readNext reads a table that was not needed so far; false: there is none.
func (t *table) readNext() bool {
	if len(t.unread) == 0 {
		return false
	}
	t.add(readTable(t.unread[0]))
	t.unread = t.unread[1:]
	return true
}

func (t *table) putDerivation(key, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setDerivation(key, text)
	unsaved.Store(true)
}

func (t *table) setDerivation(key, text string) {
	if t.derived == nil {
		t.derived = make(map[string]string)
	}
	t.derived[key] = text
}

// readTable returns what the table of s holds.
func readTable(s Shared) (files map[onMount]string, derived map[string]string) {
	b, err := s.ReadDigests()
	if err != nil {
		return nil, nil
	}
	return parse(b)
}

// add adds to what others know.
func (t *table) add(files map[onMount]string, derived map[string]string) {
	if t.others == nil {
		t.others = files
	} else {
		maps.Copy(t.others, files)
	}
	if t.foreign == nil {
		t.foreign = derived
	} else {
		maps.Copy(t.foreign, derived)
	}
}

// unsaved says that the process has read what no table holds.
var unsaved atomic.Bool

// SaveSoon is Save in the background, and only where there is something new. It costs next
// to nothing where there is not: it is for those who found something in the shared place,
// and may never store anything there.
func SaveSoon() {
	if unsaved.Load() && known.shares() != nil && saving.TryLock() { // else somebody is at it
		saving.Unlock()
		go Save()
	}
}

// Save writes what the process has read to the table that it shares. It is for whoever stores
// something there: it makes the place if need be. Nobody who asks for a digest waits for it.
func Save() {
	saving.Lock()
	defer saving.Unlock()
	to := known.shares()
	if to == nil || !unsaved.Swap(false) {
		return
	}
	// What others have written meanwhile stays. Of two that write at once one is lost, and
	// what it knew is read again.
	files, derived := readTable(to)
	known.mu.Lock()
	known.add(files, derived)
	text := known.text()
	known.mu.Unlock()
	if to.WriteDigests(text) != nil { // others read the files themselves meanwhile
		unsaved.Store(true)
	}
}

// saving is held while a table is written; it is locked before the table's mu.
var saving sync.Mutex

// shares returns who gets what is new; nil: nobody.
func (t *table) shares() Shared {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.to
}

// The table as text: a line a file, or what was derived from a content, and a last one by which damage shows.
// Releases that know no derivations take the lines of these for damaged ones.
const (
	format   = "%s %s %d %d %d %d %d %s\n" // digest, mount, device, inode, size, mtime, ctime, path
	noMount  = "-"
	derives  = "derived " // kind, digest, text
	lastLine = "sha256 "
	maxLines = 512 // of each sort
	maxOfOne = 8   // lines of one path: those who share a home may have a /usr of their own each
)

// text returns what may be shared, and no more than maxLines files, maxOfOne of them at one
// path, and some maxLines derivations; what the process itself knows comes first.
func (t *table) text() []byte {
	all := make(map[onMount]string) // lines
	ofOne := make(map[string]int)   // by path
	add := func(k onMount, text string) {
		if all[k] == "" && ofOne[k.path] < maxOfOne && len(all) < maxLines && !strings.Contains(k.path, "\n") {
			all[k] = fmt.Sprintf(format, text, cmp.Or(k.mount, noMount), k.Device, k.Inode, k.Size, k.Mtime, k.Ctime, k.path)
			ofOne[k.path]++
		}
	}
	for k, d := range t.digests {
		if d.share {
			add(onMount{k, d.mount}, d.text)
		}
	}
	for k, text := range t.others {
		add(k, text)
	}
	lines := slices.Sorted(maps.Values(all))
	derived := make(map[string]string, len(t.derived)+len(t.foreign))
	maps.Copy(derived, t.derived)
	for key, text := range t.foreign {
		if len(derived) < maxLines {
			derived[key] = text
		}
	}
	for _, key := range slices.Sorted(maps.Keys(derived)) {
		lines = append(lines, derives+key+" "+derived[key]+"\n")
	}
	b := []byte(strings.Join(lines, ""))
	sum := sha256.Sum256(b)
	return append(b, lastLine+hex.EncodeToString(sum[:])+"\n"...)
}

// parse returns what a table holds: nothing if it is damaged.
func parse(b []byte) (files map[onMount]string, derived map[string]string) {
	at := max(bytes.LastIndex(b, []byte(lastLine)), 0)
	sum := sha256.Sum256(b[:at])
	if string(b[at:]) != lastLine+hex.EncodeToString(sum[:])+"\n" {
		return nil, nil
	}
	files = make(map[onMount]string, bytes.Count(b[:at], []byte{'\n'}))
	derived = make(map[string]string)
	for line := range strings.Lines(string(b[:at])) {
		if line, ok := strings.CutPrefix(line, derives); ok {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if digest, text, ok := strings.Cut(rest, " "); ok {
				derived[kind+" "+digest] = text
			}
			continue
		}
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 8)
		if len(fields) != 8 || fields[1] != noMount && !isMount(fields[1]) {
			continue
		}
		var err error
		number := func(i int) uint64 {
			n, e := strconv.ParseUint(fields[i], 10, 64)
			err = errors.Join(err, e)
			return n
		}
		mount := fields[1]
		if mount == noMount {
			mount = ""
		}
		k := place{fields[7], Stamp{number(2), number(3), int64(number(4)), int64(number(5)), int64(number(6))}}
		if err == nil {
			files[onMount{k, mount}] = fields[0]
		}
	}
	return files, derived
}

// mountOf returns the name of a mount: "<boot id>/<unique mount id>"; "" if it is not known.
// The kernel gives each boot and each mount in it an id that no other gets.
func mountOf(boot string, id uint64) string {
	if len(boot) != bootLength || strings.Trim(boot, "0123456789abcdef-") != "" || id == 0 {
		return ""
	}
	return boot + "/" + strconv.FormatUint(id, 10)
}

const bootLength = 36 // of a UUID

// isMount reports whether mountOf returns s for some mount.
func isMount(s string) bool {
	boot, number, _ := strings.Cut(s, "/")
	id, err := strconv.ParseUint(number, 10, 64)
	return err == nil && mountOf(boot, id) == s
}
