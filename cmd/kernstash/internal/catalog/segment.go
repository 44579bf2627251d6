package catalog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/store/disk"
)

// A part's file is: a header; the rows, by place; and for each order the numbers of the rows in that order. Header and orders have
// digests, and each row has one, so that what is read is checked, and only that.
const (
	magic       = "kscat\x00\x00\x01" // with the version
	rowBytes    = 64 + 4 + 3*8 + 4
	headerBytes = 8 + 8 + 8 + sorted*8 + 8
	maxRows     = 1 << 24
)

// Order is what rows are sorted by.
type Order int

// The orders.
const (
	Size       Order = iota // the largest first
	Cost                    // what took longest to build first
	Age                     // what was not used for longest first
	Used                    // what was used last first: Age, from its end
	Unrecorded              // what the records do not know to be there, in no order that people know

	sorted = 3 // orders that are written
)

// key returns the number by which rows are ascending in an order.
func (o Order) key(f *disk.Facts) int64 {
	switch o {
	case Size:
		return -f.Size
	case Cost:
		return -int64(f.Cost)
	case Age:
		return nanos(f.Used)
	case Used:
		return -nanos(f.Used)
	}
	return 0
}

// nanos is a time as a number, also one that is not of our centuries.
func nanos(t time.Time) int64 {
	if s := t.Unix(); s > math.MaxInt64/int64(time.Second)-1 || s < math.MinInt64/int64(time.Second)+1 {
		return 0
	}
	return t.UnixNano()
}

// errDamaged is wrapped where a file is not what was written.
var errDamaged = errors.New("the catalog is damaged, and is made anew by the next command that sorts")

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func appendRow(b []byte, f *disk.Facts) []byte {
	start := len(b)
	b = append(b, f.Place[:]...)
	b = binary.LittleEndian.AppendUint32(b, f.Number)
	for _, n := range []int64{f.Size, int64(f.Cost), nanos(f.Used)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], crcTable))
}

func parseRow(b []byte) (f disk.Facts, err error) {
	body := b[:rowBytes-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != crc32.Checksum(body, crcTable) {
		return f, errDamaged
	}
	n := func(i int) int64 { return int64(binary.LittleEndian.Uint64(body[68+8*i:])) }
	copy(f.Place[:], body)
	f.Number, f.Size, f.Cost, f.Used = binary.LittleEndian.Uint32(body[64:]), n(0), time.Duration(n(1)), time.Unix(0, n(2))
	return f, nil
}

func byPlace(a, b disk.Facts) int {
	return cmp.Or(bytes.Compare(a.Place[:], b.Place[:]), cmp.Compare(a.Number, b.Number))
}

// encode returns a part's file. It sorts the rows by place.
func encode(rows []disk.Facts, generation int64) []byte {
	slices.SortFunc(rows, byPlace)
	b := make([]byte, headerBytes, headerBytes+len(rows)*(rowBytes+sorted*4))
	for i := range rows {
		b = appendRow(b, &rows[i])
	}
	head := append(b[:0:0], magic...)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(rows)))
	head = binary.LittleEndian.AppendUint64(head, uint64(generation))
	at := make([]uint32, len(rows))
	for o := range Order(sorted) {
		for i := range at {
			at[i] = uint32(i)
		}
		slices.SortFunc(at, func(i, j uint32) int { return cmp.Or(cmp.Compare(o.key(&rows[i]), o.key(&rows[j])), cmp.Compare(i, j)) })
		start := len(b)
		for _, i := range at {
			b = binary.LittleEndian.AppendUint32(b, i)
		}
		head = binary.LittleEndian.AppendUint64(head, xxhash.Sum64(b[start:]))
	}
	head = binary.LittleEndian.AppendUint64(head, xxhash.Sum64(head))
	copy(b, head)
	return b
}

// segment is a part's file, open.
type segment struct {
	f          *os.File
	n          int
	generation int64
	sums       [sorted]uint64
}

func openSegment(r *os.Root, name string) (*segment, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	s := &segment{f: f}
	if err := s.header(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *segment) header() error {
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	var b [headerBytes]byte
	if !info.Mode().IsRegular() || info.Size() < headerBytes {
		return errDamaged
	}
	if _, err := s.f.ReadAt(b[:], 0); err != nil {
		return err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	n := word(1)
	if string(b[:8]) != magic || word(headerBytes/8-1) != xxhash.Sum64(b[:headerBytes-8]) || n > maxRows ||
		info.Size() != headerBytes+int64(n)*(rowBytes+sorted*4) {
		return errDamaged
	}
	s.n, s.generation = int(n), int64(word(2))
	for i := range s.sums {
		s.sums[i] = word(3 + i)
	}
	return nil
}

// order returns the numbers of the rows in an order.
func (s *segment) order(o Order) ([]uint32, error) {
	at := make([]uint32, s.n)
	if o == Unrecorded {
		for i := range at {
			at[i] = uint32(i)
		}
		return at, nil
	}
	of := o
	if o == Used {
		of = Age
	}
	b := make([]byte, 4*s.n)
	if _, err := s.f.ReadAt(b, headerBytes+int64(s.n)*(rowBytes+4*int64(of))); err != nil && s.n > 0 {
		return nil, err
	}
	if xxhash.Sum64(b) != s.sums[of] {
		return nil, errDamaged
	}
	for i := range at {
		if at[i] = binary.LittleEndian.Uint32(b[4*i:]); int(at[i]) >= s.n {
			return nil, errDamaged
		}
	}
	if o == Used {
		slices.Reverse(at)
	}
	return at, nil
}

func (s *segment) row(i int) (disk.Facts, error) {
	var b [rowBytes]byte
	if _, err := s.f.ReadAt(b[:], headerBytes+int64(i)*rowBytes); err != nil {
		return disk.Facts{}, err
	}
	return parseRow(b[:])
}

// rows returns all rows, by place.
func (s *segment) rows() ([]disk.Facts, error) {
	b := make([]byte, s.n*rowBytes)
	if _, err := s.f.ReadAt(b, headerBytes); err != nil && s.n > 0 {
		return nil, err
	}
	all := make([]disk.Facts, s.n)
	for i := range all {
		var err error
		if all[i], err = parseRow(b[i*rowBytes:][:rowBytes]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// used returns when one of the entries at a place was used last, as far as the file knows; false: it knows none.
func (s *segment) used(p records.Place) (last time.Time, ok bool, err error) {
	i, j := 0, s.n
	for i < j {
		mid := (i + j) / 2
		f, err := s.row(mid)
		if err != nil {
			return last, false, err
		}
		if bytes.Compare(f.Place[:], p[:]) < 0 {
			i = mid + 1
		} else {
			j = mid
		}
	}
	for ; i < s.n; i++ {
		f, err := s.row(i)
		if err != nil || f.Place != p {
			return last, ok, err
		}
		if ok = true; f.Used.After(last) {
			last = f.Used
		}
	}
	return last, ok, nil
}
