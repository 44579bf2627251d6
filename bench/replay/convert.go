package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pairs are the fields of a line that KERNSTASH_TRACE=disk writes.
var pairs = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|\S+)`)

// convert makes a trace of what KERNSTASH_TRACE=disk wrote to
// KERNSTASH_TRACE_FILE. A hit tells the size of an artifact and what building
// it took; a miss does not, but the put does that follows it. What was built
// and not stored is no request that a policy could serve. If every is not 0,
// each process begins so much later than the one before, for what was recorded
// back to back and stands for use over days.
func convert(r io.Reader, every time.Duration) (trace []request, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var began time.Time
	for n := 1; lines.Scan(); n++ {
		f := make(map[string]string)
		for _, m := range pairs.FindAllStringSubmatch(lines.Text(), -1) {
			v := m[2]
			if strings.HasPrefix(v, `"`) {
				if v, err = strconv.Unquote(v); err != nil {
					return nil, fmt.Errorf("line %d: %w", n, err)
				}
			}
			f[m[1]] = v
		}
		stored := f["msg"] == "put" && f["result"] == "1"
		if f["msg"] != "hit" && !stored {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, f["time"])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if began.IsZero() {
			began = at
		}
		q := request{process: f["pid"], key: f["key"], at: at.Sub(began)}
		if q.bytes, err = strconv.ParseInt(f["bytes"], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d: bytes: %w", n, err)
		}
		fields := []string{"cost"}
		if !stored {
			fields = []string{"saved", "load"} // a hit saves the cost less its own
		}
		for _, name := range fields {
			d, err := time.ParseDuration(f[name])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", n, name, err)
			}
			q.cost += d
		}
		trace = append(trace, q)
	}
	// Lines of several processes are almost in order.
	slices.SortStableFunc(trace, func(a, b request) int { return int(a.at - b.at) })
	if every > 0 {
		space(trace, every)
	}
	return trace, lines.Err()
}

// space sets the beginning of each process. Within it the gaps stay, if there
// is room for them.
func space(trace []request, every time.Duration) {
	var start, was time.Duration
	n := -1
	for i := range trace {
		q := &trace[i]
		if i == 0 || q.process != trace[i-1].process {
			n++
			start = q.at
		}
		was = max(was, time.Duration(n)*every+min(q.at-start, every))
		q.at = was
	}
}
