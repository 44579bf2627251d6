package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
)

// sortedRows are rows of output that are put in order. What does not fit into
// memory is written to a temporary file, as runs that are in order each, and
// merged at the end: the rows of a million entries take 400 MB.
type sortedRows struct {
	most  int // bytes of rows that are kept in memory
	rows  []sortedRow
	bytes int
	file  *os.File
	runs  []int64 // where each run of the file ends
}

// sortedRow is a row, and what decides where it goes: a number, a text, and
// where the entry is, so that the order is always the same.
type sortedRow struct {
	number int64
	text   string
	place  string
	row    []byte
}

func (r *sortedRow) size() int { return len(r.text) + len(r.place) + len(r.row) + 100 }

func compareRows(a, b sortedRow) int {
	return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.text, b.text), strings.Compare(a.place, b.place))
}

// newSortedRows returns no rows yet. Close must be called.
func newSortedRows() *sortedRows { return &sortedRows{most: 8 << 20} }

// add takes a row, whose bytes are copied.
func (s *sortedRows) add(r sortedRow) error {
	r.row = bytes.Clone(r.row)
	s.rows = append(s.rows, r)
	s.bytes += r.size()
	if s.bytes < s.most {
		return nil
	}
	return s.spill()
}

// spill writes the rows that are in memory as a run.
func (s *sortedRows) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "kernstash-ls-")
		if err != nil {
			return err
		}
		s.file = f
		_ = os.Remove(f.Name()) // where that cannot be, Close does it
	}
	slices.SortFunc(s.rows, compareRows)
	w := bufio.NewWriterSize(s.file, 64<<10)
	for i := range s.rows {
		if err := s.rows[i].write(w); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	end, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, end)
	clear(s.rows)
	s.rows, s.bytes = s.rows[:0], 0
	return nil
}

func (r *sortedRow) write(w *bufio.Writer) error {
	b := binary.AppendVarint(w.AvailableBuffer(), r.number)
	for _, part := range []string{r.text, r.place, string(r.row)} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	_, err := w.Write(b)
	return err
}

func (r *sortedRow) read(from *bufio.Reader) (err error) {
	if r.number, err = binary.ReadVarint(from); err != nil {
		return err
	}
	var parts [3][]byte
	for i := range parts {
		n, err := binary.ReadUvarint(from)
		if err != nil {
			return err
		}
		parts[i] = make([]byte, n)
		if _, err := io.ReadFull(from, parts[i]); err != nil {
			return err
		}
	}
	r.text, r.place, r.row = string(parts[0]), string(parts[1]), parts[2]
	return nil
}

// each calls f with every row, in order.
func (s *sortedRows) each(f func(row []byte) error) error {
	slices.SortFunc(s.rows, compareRows)
	if s.file == nil {
		for i := range s.rows {
			if err := f(s.rows[i].row); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	return s.merge(f)
}

// merge reads all runs side by side. There are few: each is megabytes long.
func (s *sortedRows) merge(f func(row []byte) error) error {
	var heads []sortedRow
	var readers []*bufio.Reader
	next := func(i int) error {
		err := heads[i].read(readers[i])
		if err == io.EOF {
			heads, readers = slices.Delete(heads, i, i+1), slices.Delete(readers, i, i+1)
			return nil
		}
		return err
	}
	from := int64(0)
	for _, end := range s.runs {
		if end > from {
			readers = append(readers, bufio.NewReaderSize(io.NewSectionReader(s.file, from, end-from), 64<<10))
			heads = append(heads, sortedRow{})
			if err := next(len(heads) - 1); err != nil {
				return err
			}
		}
		from = end
	}
	for len(heads) > 0 {
		first := 0
		for i := range heads {
			if compareRows(heads[i], heads[first]) < 0 {
				first = i
			}
		}
		if err := f(heads[first].row); err != nil {
			return err
		}
		if err := next(first); err != nil {
			return err
		}
	}
	return nil
}

// close gives the temporary file back.
func (s *sortedRows) close() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
