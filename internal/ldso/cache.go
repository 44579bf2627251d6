package ldso

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
)

// What ldconfig writes, as glibc's dl-cache.h has it; in the machine's order of
// bytes.
const (
	cacheMagic  = "glibc-ld.so.cache1.1"
	cacheHeader = 48
	cacheEntry  = 24
	maxCache    = 64 << 20
)

// The flags of an entry.
const (
	flagX8664   = 0x0303
	flagAArch64 = 0x0a03
	flagI386    = 0x0003
)

// cached looks a name up in ldconfig's cache.
func (s System) cached(p *Program, name string) string {
	info, err := os.Stat(s.Cache)
	if err != nil || info.Size() > maxCache {
		return ""
	}
	b, err := os.ReadFile(s.Cache)
	if err != nil {
		return ""
	}
	return lookUp(b, name, flagsOf(p))
}

func flagsOf(p *Program) uint32 {
	switch p.Machine {
	case elf.EM_X86_64:
		return flagX8664
	case elf.EM_AARCH64:
		return flagAArch64
	}
	return flagI386
}

// lookUp returns the path of the first entry of a name, "" if there is none or
// the cache makes no sense.
func lookUp(b []byte, name string, flags uint32) string {
	at := bytes.Index(b, []byte(cacheMagic)) // an older format may stand before it
	if at < 0 || len(b)-at < cacheHeader {
		return ""
	}
	b = b[at:]
	n := int64(binary.NativeEndian.Uint32(b[20:]))
	if cacheHeader+n*cacheEntry > int64(len(b)) {
		return ""
	}
	for i := range n {
		e := b[cacheHeader+i*cacheEntry:]
		if binary.NativeEndian.Uint32(e) != flags || !hasText(b, binary.NativeEndian.Uint32(e[4:]), name) {
			continue
		}
		return text(b, binary.NativeEndian.Uint32(e[8:]))
	}
	return ""
}

// hasText says whether a text stands at an offset, with its end.
func hasText(b []byte, at uint32, text string) bool {
	if int64(at)+int64(len(text)) >= int64(len(b)) {
		return false
	}
	b = b[at:]
	return string(b[:len(text)]) == text && b[len(text)] == 0
}

func text(b []byte, at uint32) string {
	if int64(at) >= int64(len(b)) {
		return ""
	}
	s, _, ok := bytes.Cut(b[at:], []byte{0})
	if !ok {
		return ""
	}
	return string(s)
}
