package cache

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/writesignal"
)

// newLoggers returns what writes what KERNSTASH_TRACE asks for.
func newLoggers(set *settings.Settings, to *slog.Logger) (l engine.Loggers) {
	if set.Trace == 0 {
		return l
	}
	if to == nil {
		out := io.Writer(standardError{})
		if file := traceFile(set.TraceFile); file != "" {
			if _, err := file.Write(nil); err != nil {
				fmt.Fprintf(standardError{}, "kernstash: trace goes to standard error: %v\n", err)
			} else {
				out = file
			}
		}
		to = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	to = to.With("pid", os.Getpid())
	if set.Trace.Has(settings.TraceDisk) {
		l.Disk = to.With("tier", "disk")
	}
	if set.Trace.Has(settings.TraceMemory) {
		l.Memory = to.With("tier", "memory")
	}
	if set.Trace.Has(settings.TraceKeys) {
		l.Keys = to.With("tier", "keys")
	}
	return l
}

// traceFile is the path of the file of the trace. It is opened for each line anew: a host may
// close all descriptors that it does not know, and have files of its own under their numbers.
type traceFile string

func (path traceFile) Write(b []byte) (int, error) {
	f, err := openTrace(string(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.Write(b)
	writesignal.Note(err)
	return n, err
}

// standardError is where the trace goes if no file is named. A write of os.Stderr ends the
// program, or the host, where nobody reads any more.
type standardError struct{}

func (standardError) Write(b []byte) (int, error) {
	for {
		n, err := syscall.Write(syscall.Stderr, b)
		if err != syscall.EINTR {
			writesignal.Note(err)
			return max(n, 0), err
		}
	}
}

var said sync.Map // of string

// say writes a warning to standard error, once a process. It is for what changes what
// the cache does, and what nobody hears of else.
func say(warning string) {
	text := fmt.Sprintf("kernstash: warning: %s\n", human.Printable(warning, false))
	if _, was := said.LoadOrStore(text, true); !was {
		fmt.Fprint(standardError{}, text)
	}
}
