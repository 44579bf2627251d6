package pocl

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
)

// With its kernel cache off PoCL keeps the files of each program in a directory of a
// random name, which goes with the program. A program made of a binary gets the
// directory that the binary names: whoever restores the same binary at that time, in
// this process or another, shares it, loses it to the first that is through, and
// aborts. So each program is made of a binary that names a directory of its own.

// cacheVariable switches PoCL's own kernel cache off. PoCL reads it once.
const cacheVariable = "POCL_KERNEL_CACHE="

// Errors of a driver whose programs cannot be restored safely.
var (
	errCache   = errors.New("POCL_KERNEL_CACHE is neither 0 nor 1, or was changed")
	errUnknown = errors.New("POCL_KERNEL_CACHE=0, and a PoCL whose binaries are not known")
)

// CacheOff reports whether PoCL's own kernel cache is off in an environment. An error says that
// nobody knows, or that its binaries are not known to unshared.
func (Driver) CacheOff(p driver.Platform, environ []string) (off bool, err error) {
	then, known := cacheOff(p.Env.Loaded)
	now, still := cacheOff(environ)
	switch {
	case !known || !still || then != now:
		return false, errCache
	case now && !strings.Contains(p.Version, "PoCL 3.1"):
		return false, errUnknown
	}
	return now, nil
}

// Loadable returns what to make a program of in the place of a binary.
func (d Driver) Loadable(p driver.Platform, binary []byte) ([]byte, error) {
	if off, _ := d.CacheOff(p, p.Env.Now()); off {
		return unshared(binary)
	}
	return binary, nil
}

// cacheOff reads an environment. PoCL 3.1 takes whatever does not begin with a 1
// for off; others may not.
func cacheOff(environ []string) (off, known bool) {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, cacheVariable); ok {
			return value == "0", value == "0" || strings.HasPrefix(value, "1")
		}
	}
	return false, true
}

// A binary of PoCL 3.1: its name, NUL; device, 8 bytes; version, 4; 16 more; then the
// directory, a string.
const (
	magic         = "poclbin\x00"
	versionAt     = 16
	formatVersion = "\x09\x00\x00\x00"
	directoryAt   = 36
	directorySize = 41
	uncached      = "_UNCACHED_" // PoCL's own beginning for random names
)

var errBinary = errors.New("no binary of PoCL 3.1")

// unshared returns a copy of a PoCL binary that shares PoCL's files with no other.
func unshared(binary []byte) ([]byte, error) {
	if len(binary) < directoryAt+directorySize || string(binary[:len(magic)]) != magic ||
		string(binary[versionAt:versionAt+len(formatVersion)]) != formatVersion ||
		!isDirectory(binary[directoryAt:directoryAt+directorySize]) {
		return nil, errBinary
	}
	own := bytes.Clone(binary)
	directory := own[directoryAt : directoryAt+directorySize]
	clear(directory)
	name := directory[copy(directory, uncached) : directorySize-1]
	for i, b := range unlikely() {
		if i < len(name) {
			name[i] = 'A' + b&15
		}
	}
	return own, nil
}

var drawn atomic.Uint64

// unlikely returns bytes that no other process draws, nor this one again. Children that were forked
// draw the same of math/rand, and crypto/rand ends a process that a filter refuses getrandom.
func unlikely() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d %d %d %d", os.Getpid(), time.Now().UnixNano(), drawn.Add(1), rand.Uint64()))
}

// isDirectory reports whether the bytes are a directory's name: two letters, a slash
// and 37 letters, or a random name, and zeros.
func isDirectory(b []byte) bool {
	name, rest, _ := bytes.Cut(b, []byte{0})
	switch {
	case len(bytes.Trim(rest, "\x00")) > 0 || len(name) >= directorySize:
		return false
	case bytes.HasPrefix(name, []byte(uncached)):
		return true
	case len(name) != directorySize-1 || name[2] != '/':
		return false
	}
	letters := slices.Concat(name[:2], name[3:])
	return !bytes.ContainsFunc(letters, func(c rune) bool { return c < 'A' || c > 'P' })
}
