// Package runlog is how the processes under `kernstash run` tell it what the
// cache did for them: each decision is one line of JSON, appended by one write
// to the file that KERNSTASH_REPORT names.
//
// Lines come from the front ends (Go, C), from several processes at once, and from processes that
// are killed meanwhile. So a line is at most MaxLine bytes, which one write appends whole, and
// the reader takes nothing for granted: it counts what it does not understand and goes on.
//
// The file is opened for each line anew. An application that closes every
// descriptor and opens files of its own would else have our lines in them.
package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/elevated"
	"github.com/kernstash/kernstash/internal/writesignal"
)

// Variable names the file in the environment.
const Variable = "KERNSTASH_REPORT"

// MemoryName is the name of the memory that a run has its report in, and that Variable leads to
// by the descriptor of the process that waits.
const MemoryName = "kernstash-report"

// MaxSize is the length beyond which nothing is appended: a program may build for ever.
const MaxSize = 64 << 20

// Log appends events to a file. A nil Log is one that nobody reads: its methods do nothing. It is
// safe for concurrent use, in forked children too, holds no descriptor and needs no closing.
type Log struct{ path string }

// FromEnvironment returns the Log that KERNSTASH_REPORT names in a list of NAME=value, of which
// nil means this process's; nil where there is none, and in a program with rights beyond its
// user's, who could else have it write where only the program may.
func FromEnvironment(environ []string) *Log {
	if environ == nil {
		environ = os.Environ()
	}
	at := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, Variable+"=") })
	if at < 0 || environ[at] == Variable+"=" || elevated.Now() {
		return nil
	}
	return At(strings.TrimPrefix(environ[at], Variable+"="))
}

// At returns the Log of a path.
func At(path string) *Log { return &Log{path} }

// errFull says that a file has reached MaxSize.
var errFull = errors.New("the report is full")

// Write appends an event, of this process where it names none. The file must
// be there: whoever made it removes it when nobody is to write any more. An
// error concerns nobody but tests and traces. It costs some 10 µs.
func (l *Log) Write(e Event) error {
	if l == nil {
		return nil
	}
	if e.PID == 0 {
		e.PID = os.Getpid()
	}
	if e.Ended.IsZero() {
		e.Ended = time.Now().UTC()
	}
	b := encode(e)
	f, err := openAppend(l.path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	return l.append(f, b)
}

// append appends a line to the file of l.
func (l *Log) append(f *os.File, line []byte) error {
	info, err := f.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case err == nil && info.Size() > MaxSize-MaxLine:
		err = errFull
	case err == nil:
		_, err = f.Write(line)
		writesignal.Note(err)
	}
	if err != nil {
		return fmt.Errorf("report %s: %w", l.path, err)
	}
	return nil
}

// Copy appends the events that r holds, as they are: a run within a run tells the outer one.
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
