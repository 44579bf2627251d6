package entries

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"io"
	"os"
	"slices"
)

// sortedRows are rows of output that are put in order. What decides the order stays in memory,
// 24 bytes a row and its text; the rows go to a temporary file when there are many.
type sortedRows struct {
	keys  []rowKey
	texts []byte   // of rows that are ordered by a text, each with a zero behind it
	last  []byte   // rows that are not in the file, each with its size before it
	from  int64    // where these begin
	file  *os.File // nil: there are few rows
	read  []byte
}

// rowKey is what decides where a row goes, and where the row is.
type rowKey struct {
	number int64 // or where its text begins
	at     int64
	place  uint64 // a hash of where the entry is, for a stable order of equal ones
}

// sizeBytes is how many bytes before a row say how long it is: a million keys are most of the memory.
const sizeBytes = 4

// add takes a row, which is copied. It is ordered by text, which contains no zero byte, if
// that is not empty, else by number; all rows are ordered by the same.
func (s *sortedRows) add(number int64, text, place string, row []byte) error {
	h := fnv.New64a()
	_, _ = io.WriteString(h, place)
	if text != "" {
		number = int64(len(s.texts))
		s.texts = append(append(s.texts, text...), 0)
	}
	s.keys = append(s.keys, rowKey{number: number, at: s.from + int64(len(s.last)), place: h.Sum64()})
	const most = 1 << 20 // bytes of rows in memory
	s.last = binary.LittleEndian.AppendUint32(s.last, uint32(len(row)))
	if s.last = append(s.last, row...); len(s.last) < most {
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "kernstash-ls-")
		if err != nil {
			return err
		}
		s.file = f
		_ = os.Remove(f.Name()) // where an open file cannot be removed, close does it
	}
	_, err := s.file.Write(s.last)
	s.from, s.last = s.from+int64(len(s.last)), s.last[:0]
	return err
}

// row returns a row, which is valid until the next call.
func (s *sortedRows) row(k rowKey) ([]byte, error) {
	if k.at >= s.from {
		b := s.last[k.at-s.from:]
		return b[sizeBytes:][:binary.LittleEndian.Uint32(b)], nil
	}
	s.read = slices.Grow(s.read[:0], sizeBytes)[:sizeBytes]
	if _, err := s.file.ReadAt(s.read, k.at); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(s.read))
	s.read = slices.Grow(s.read[:0], size)[:size]
	_, err := s.file.ReadAt(s.read, k.at+sizeBytes)
	return s.read, err
}

// each calls f with every row, in order.
func (s *sortedRows) each(f func(row []byte) error) error {
	slices.SortFunc(s.keys, s.compare)
	for _, k := range s.keys {
		row, err := s.row(k)
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sortedRows) compare(a, b rowKey) int {
	order := cmp.Compare(a.number, b.number)
	if len(s.texts) > 0 {
		order = bytes.Compare(s.text(a), s.text(b))
	}
	return cmp.Or(order, cmp.Compare(a.place, b.place))
}

func (s *sortedRows) text(k rowKey) []byte {
	text, _, _ := bytes.Cut(s.texts[k.number:], []byte{0})
	return text
}

// close removes the temporary file.
func (s *sortedRows) close() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
