package opencl

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// With its kernel cache off PoCL keeps the files of each program in a directory of a
// random name, which goes with the program. A program made of a binary gets the
// directory that the binary names: whoever restores the same binary at that time, in
// this process or another, shares it, loses it to the first that is through, and
// aborts. So each program is made of a binary that names a directory of its own.

// poclCacheVariable switches PoCL's own kernel cache off. PoCL reads it once.
const poclCacheVariable = "POCL_KERNEL_CACHE="

// Errors of a driver whose programs cannot be restored safely.
var (
	errPoCLCache   = errors.New("POCL_KERNEL_CACHE is neither 0 nor 1, or was changed")
	errPoCLUnknown = errors.New("POCL_KERNEL_CACHE=0, and a PoCL whose binaries are not known")
)

// PoCLCache says whether the platform is PoCL's, and whether PoCL's own kernel cache is
// off in a process with an environment. An error says why programs cannot be restored
// safely there.
func (p *Platform) PoCLCache(environ []string) (is, off bool, err error) {
	if p.vendor() != pocl {
		return false, false, nil
	}
	off, err = p.poclCacheOff(environ)
	return true, off, err
}

// poclCacheOff says whether PoCL's own kernel cache is off in this process, whose
// environment is now as given. An error says that nobody knows, or that its binaries
// are not known to unshared.
func (p *Platform) poclCacheOff(environ []string) (bool, error) {
	if p.vendor() != pocl {
		return false, nil
	}
	then, known := poclCacheOff(p.env.loaded)
	now, still := poclCacheOff(environ)
	switch {
	case !known || !still || then != now:
		return false, errPoCLCache
	case now && !strings.Contains(p.Version, "PoCL 3.1"):
		return false, errPoCLUnknown
	}
	return now, nil
}

// poclCacheOff reads an environment. PoCL 3.1 takes whatever does not begin with a 1
// for off; others may not.
func poclCacheOff(environ []string) (off, known bool) {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, poclCacheVariable); ok {
			return value == "0", value == "0" || strings.HasPrefix(value, "1")
		}
	}
	return false, true
}

// A binary of PoCL 3.1: its name, NUL; device, 8 bytes; version, 4; 16 more; then the
// directory, a string.
const (
	poclMagic         = "poclbin\x00"
	poclVersionAt     = 16
	poclVersion       = "\x09\x00\x00\x00"
	poclDirectoryAt   = 36
	poclDirectorySize = 41
	poclUncached      = "_UNCACHED_" // PoCL's own beginning for random names
)

var errBinary = errors.New("no binary of PoCL 3.1")

// unshared returns a copy of a PoCL binary that shares PoCL's files with no other.
func unshared(binary []byte) ([]byte, error) {
	if len(binary) < poclDirectoryAt+poclDirectorySize || string(binary[:len(poclMagic)]) != poclMagic ||
		string(binary[poclVersionAt:poclVersionAt+len(poclVersion)]) != poclVersion ||
		!isPoCLDirectory(binary[poclDirectoryAt:poclDirectoryAt+poclDirectorySize]) {
		return nil, errBinary
	}
	own := bytes.Clone(binary)
	directory := own[poclDirectoryAt : poclDirectoryAt+poclDirectorySize]
	clear(directory)
	name := directory[copy(directory, poclUncached) : poclDirectorySize-1]
	for i, b := range unlikely() {
		if i < len(name) {
			name[i] = 'A' + b&15
		}
	}
	return own, nil
}

var drawn atomic.Uint64

// unlikely returns bytes that no other process draws, nor this one again. Children that were
// forked draw the same of math/rand, and crypto/rand ends a process that a filter refuses
// getrandom.
func unlikely() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d %d %d %d", os.Getpid(), time.Now().UnixNano(), drawn.Add(1), rand.Uint64()))
}

// isPoCLDirectory says whether the bytes are a directory's name: two letters, a slash
// and 37 letters, or a random name, and zeros.
func isPoCLDirectory(b []byte) bool {
	name, rest, _ := bytes.Cut(b, []byte{0})
	switch {
	case len(bytes.Trim(rest, "\x00")) > 0 || len(name) >= poclDirectorySize:
		return false
	case bytes.HasPrefix(name, []byte(poclUncached)):
		return true
	case len(name) != poclDirectorySize-1 || name[2] != '/':
		return false
	}
	for i, c := range name {
		if i != 2 && (c < 'A' || c > 'P') {
			return false
		}
	}
	return true
}
