package contents

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// line returns the line of the file in a table, after the digest: mount, device, inode, size, mtime, ctime, path.
func (k onMount) line() string {
	b := append(append([]byte{' '}, cmp.Or(k.mount, noMount)...), ' ')
	for _, n := range []uint64{k.Device, k.Inode} {
		b = append(strconv.AppendUint(b, n, 10), ' ')
	}
	for _, n := range []int64{k.Size, k.Mtime, k.Ctime} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	return string(append(append(b, k.path...), '\n'))
}

// table holds digests by place.
type table struct {
	mu      sync.Mutex
	digests map[place]digest  // what the process has read or used
	derived map[string]string // what was derived from contents, by [Derived]'s kind and digest, and used by the process
	others  []tableText       // what other processes have read and derived
	unread  []Shared          // whose tables were not needed so far
	to      Shared            // gets what is new; nil: nobody
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
	text, ok := t.find(func(other tableText) (string, bool) { return other.file(onMount{k, mount}) })
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
	text, ok = t.find(func(other tableText) (string, bool) { return other.derivation(key) })
	if ok {
		t.setDerivation(key, text)
	}
	return text, ok
}

// find returns what the first of the other processes' tables has in which in finds it. Tables that were not needed so far
// are read.
func (t *table) find(in func(tableText) (string, bool)) (string, bool) {
	for i := 0; ; i++ {
		if i == len(t.others) {
			if len(t.unread) == 0 {
				return "", false
			}
			t.others = append(t.others, readTable(t.unread[0]))
			t.unread = t.unread[1:]
		}
		if text, ok := in(t.others[i]); ok {
			return text, true
		}
	}
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

// readTable returns the lines of the table of s, if it is not damaged.
func readTable(s Shared) tableText {
	b, err := s.ReadDigests()
	if err != nil {
		return ""
	}
	return checked(b)
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
	now := readTable(to)
	known.mu.Lock()
	known.others = append(known.others, now)
	text := known.text()
	known.others = []tableText{checked(text)} // all of them, as far as there is room
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
			all[k] = text + k.line()
			ofOne[k.path]++
		}
	}
	for k, d := range t.digests {
		if d.share {
			add(onMount{k, d.mount}, d.text)
		}
	}
	derived := maps.Clone(t.derived)
	if derived == nil {
		derived = make(map[string]string)
	}
	for _, other := range slices.Backward(t.others) { // the newest first
		files, foreign := other.parse()
		for k, text := range files {
			add(k, text)
		}
		for key, text := range foreign {
			if _, ok := derived[key]; !ok && len(derived) < maxLines {
				derived[key] = text
			}
		}
	}
	lines := slices.Sorted(maps.Values(all))
	for _, key := range slices.Sorted(maps.Keys(derived)) {
		lines = append(lines, derives+key+" "+derived[key]+"\n")
	}
	b := []byte(strings.Join(lines, ""))
	sum := sha256.Sum256(b)
	return append(b, lastLine+hex.EncodeToString(sum[:])+"\n"...)
}

// tableText is the lines of a table but the last, which was checked.
type tableText string

// checked returns the lines of a table: none if it is damaged.
func checked(b []byte) tableText {
	at := max(bytes.LastIndex(b, []byte(lastLine)), 0)
	sum := sha256.Sum256(b[:at])
	if string(b[at:]) != lastLine+hex.EncodeToString(sum[:])+"\n" {
		return ""
	}
	return tableText(b[:at])
}

// file returns what the table holds of a file. Few of its lines are ever asked for, so they are not parsed.
func (t tableText) file(k onMount) (string, bool) {
	if strings.Contains(k.path, "\n") || k.mount != "" && !isMount(k.mount) {
		return "", false
	}
	at := strings.Index(string(t), k.line())
	if at < 0 {
		return "", false
	}
	text := string(t[strings.LastIndexByte(string(t[:at]), '\n')+1 : at])
	return text, !strings.Contains(text, " ") // else it is the end of another line
}

// derivation returns what the table holds of a derivation.
func (t tableText) derivation(key string) (string, bool) {
	begin := derives + key + " "
	at := strings.Index(string(t), "\n"+begin) + 1
	if !strings.HasPrefix(string(t[at:]), begin) {
		return "", false
	}
	text, _, ok := strings.Cut(string(t[at+len(begin):]), "\n")
	return text, ok
}

// parse returns what a table holds.
func (t tableText) parse() (files map[onMount]string, derived map[string]string) {
	files, derived = make(map[onMount]string), make(map[string]string)
	for line := range strings.Lines(string(t)) {
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
