package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// request is one request of a trace: somebody asks for an artifact that takes
// cost to build and bytes to keep.
type request struct {
	at      time.Duration // since the trace began
	process string        // who asks; a new process records a use anew
	key     string
	bytes   int64
	cost    time.Duration
}

// imageOf returns the image of a key: what comes before a slash, if there is one. What
// comes after it is the options.
func imageOf(key string) string {
	image, _, _ := strings.Cut(key, "/")
	return image
}

// header is the first line of a trace file.
var header = []string{"seconds", "process", "key", "bytes", "cost_ms"}

// readTrace reads a trace in CSV.
func readTrace(r io.Reader) (trace []request, err error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = len(header)
	if _, err := lines.Read(); err != nil {
		return nil, fmt.Errorf("first line: %w", err)
	}
	for {
		f, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return trace, nil
		}
		if err != nil {
			return nil, err
		}
		seconds, err1 := strconv.ParseFloat(f[0], 64)
		bytes, err2 := strconv.ParseInt(f[3], 10, 64)
		ms, err3 := strconv.ParseFloat(f[4], 64)
		q := request{
			at: time.Duration(seconds * float64(time.Second)), process: f[1], key: f[2],
			bytes: bytes, cost: time.Duration(ms * float64(time.Millisecond)),
		}
		n, _ := lines.FieldPos(0)
		switch {
		case errors.Join(err1, err2, err3) != nil:
			return nil, fmt.Errorf("line %d: %w", n, errors.Join(err1, err2, err3))
		case q.bytes <= 0 || q.cost < 0 || q.key == "":
			return nil, fmt.Errorf("line %d: want a key, bytes above 0 and a cost", n)
		case len(trace) > 0 && q.at < trace[len(trace)-1].at:
			return nil, fmt.Errorf("line %d: earlier than the one before", n)
		}
		trace = append(trace, q)
	}
}

// writeTrace writes a trace in CSV.
func writeTrace(w io.Writer, trace []request) error {
	lines := csv.NewWriter(w)
	_ = lines.Write(header) // Flush keeps the error
	for _, q := range trace {
		_ = lines.Write([]string{
			strconv.FormatFloat(q.at.Seconds(), 'f', 3, 64), q.process, q.key,
			strconv.FormatInt(q.bytes, 10), strconv.FormatFloat(float64(q.cost)/float64(time.Millisecond), 'f', 1, 64),
		})
	}
	lines.Flush()
	return lines.Error()
}

func openTrace(path string) ([]request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	trace, err := readTrace(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return trace, nil
}

// shape says how large a trace is.
type shape struct {
	requests, keys int
	bytes          int64         // of distinct keys
	cost           time.Duration // of building at every request
	again          float64       // share of requests that are not the first for their key
}

func shapeOf(trace []request) (s shape) {
	seen := make(map[string]bool)
	for _, q := range trace {
		s.requests++
		s.cost += q.cost
		if !seen[q.key] {
			seen[q.key] = true
			s.keys++
			s.bytes += q.bytes
		}
	}
	s.again = float64(s.requests-s.keys) / float64(max(s.requests, 1))
	return s
}

// megabytes writes a size for people.
func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }
