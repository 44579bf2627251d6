package kernstash

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/internal/wrote"
)

// tracer writes what KERNSTASH_TRACE asks for. The zero tracer is silent, and
// each of its loggers may be nil.
type tracer struct {
	disk, memory, keys *slog.Logger
}

// newTracer returns the tracer that the settings ask for, and what to close.
func newTracer(set *settings.Settings, to *slog.Logger) (tracer, io.Closer) {
	if set.Trace == 0 {
		return tracer{}, nil
	}
	var file io.Closer
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
	var t tracer
	if set.Trace.Has(settings.TraceDisk) {
		t.disk = to.With("tier", "disk")
	}
	if set.Trace.Has(settings.TraceMemory) {
		t.memory = to.With("tier", "memory")
	}
	if set.Trace.Has(settings.TraceKeys) {
		t.keys = to.With("tier", "keys")
	}
	return t, file
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

// warn tells of something that is not as it should be, if anything is traced.
func (t tracer) warn(msg string, args ...any) {
	for _, l := range []*slog.Logger{t.disk, t.memory, t.keys} {
		if l != nil {
			l.Warn(msg, args...)
			return
		}
	}
}

// on calls f with a logger if there is one.
func on(l *slog.Logger, f func(*slog.Logger)) {
	if l != nil {
		f(l)
	}
}
