package cache

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/wrote"
)

// newLoggers returns what writes what KERNSTASH_TRACE asks for, and what to close.
func newLoggers(set *settings.Settings, to *slog.Logger) (l engine.Loggers, file io.Closer) {
	if set.Trace == 0 {
		return l, nil
	}
	if to == nil {
		out := io.Writer(standardError{})
		if set.TraceFile != "" {
			f, err := openTrace(set.TraceFile)
			if err != nil {
				fmt.Fprintf(standardError{}, "kernstash: trace goes to standard error: %v\n", err)
			} else {
				out, file = f, f
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
	return l, file
}

// standardError is where the trace goes if no file is named. A write of os.Stderr ends the
// program, or the host, where nobody reads any more.
type standardError struct{}

func (standardError) Write(b []byte) (int, error) {
	for {
		n, err := syscall.Write(syscall.Stderr, b)
		if err != syscall.EINTR {
			wrote.Look(err)
			return max(n, 0), err
		}
	}
}
