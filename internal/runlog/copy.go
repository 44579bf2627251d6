package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Copy appends the events that r holds, as they are: a run within a run tells the
// outer one.
func (l *Log) Copy(r io.Reader) error {
	f, err := openAppend(l.path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	b := bufio.NewReaderSize(io.LimitReader(r, MaxSize), MaxLine)
	for {
		text, err := b.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil // what has no end is not whole
		}
		if _, ok := decode(text[:len(text)-1]); ok {
			if err := l.append(f, text); err != nil {
				return err
			}
		}
	}
}
