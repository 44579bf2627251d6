package tally

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	magic       = "ksttally"
	version     = 1
	headerBytes = 64
	maxSlots    = 1 << 10
	maxCounters = 1 << 10
)

var errDamaged = errors.New("damaged tally")

type header struct{ slots, counters int }

func (h header) size() int64        { return h.offset(h.slots) }
func (h header) offset(s int) int64 { return headerBytes + int64(s)*int64(h.counters)*8 }

func (h header) put(b []byte) {
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], headerBytes)
	binary.LittleEndian.PutUint32(b[16:], uint32(h.slots))
	binary.LittleEndian.PutUint32(b[20:], uint32(h.counters))
}

// parseHeader reads the header of a file of size bytes.
func parseHeader(b []byte, size int64) (header, error) {
	if len(b) < headerBytes || string(b[:8]) != magic {
		return header{}, errDamaged
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return header{}, fmt.Errorf("version %d: %w", v, ErrVersion)
	}
	h := header{int(binary.LittleEndian.Uint32(b[16:])), int(binary.LittleEndian.Uint32(b[20:]))}
	if binary.LittleEndian.Uint32(b[12:]) != headerBytes || h.slots < 1 || h.slots > maxSlots ||
		h.counters < 1 || h.counters > maxCounters || size != h.size() {
		return header{}, errDamaged
	}
	return h, nil
}

func decode(c []int64, b []byte) {
	for i := range c {
		c[i], b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	}
}

// sum adds up the first n counters of all slots of a file.
func (h header) sum(b []byte, n int) []int64 {
	sums := make([]int64, n)
	for s := range h.slots {
		for i := range min(h.counters, n) {
			sums[i] += int64(binary.LittleEndian.Uint64(b[h.offset(s)+8*int64(i):]))
		}
	}
	return sums
}
