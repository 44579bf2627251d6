package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// metrics answers Prometheus, in its text format 0.0.4.
func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	counts, err := s.data.c.Disk.Stats()
	st := s.data.c.Disk.Status()
	if err != nil && st.On {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(exposition(st, counts, s.version))
}

// exposition writes what 'kernstash stat' counts as metrics.
func exposition(st disk.Status, counts stats.Snapshot, version string) []byte {
	var b bytes.Buffer
	metric := func(name, kind, help, labels string, value float64) {
		if help != "" {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		}
		fmt.Fprintf(&b, "%s%s %s\n", name, labels, strconv.FormatFloat(value, 'g', -1, 64))
	}
	on := 0.0
	if st.On {
		on = 1
	}
	metric("kernstash_build_info", "gauge", "The version of the command that serves this.", fmt.Sprintf("{version=%q}", version), 1)
	metric("kernstash_on", "gauge", "1 where the cache on disk is on.", "", on)
	metric("kernstash_entries", "gauge", "Entries on disk.", "", float64(st.Entries))
	metric("kernstash_size_bytes", "gauge", "What the cache takes on disk.", "", float64(st.Bytes))
	metric("kernstash_size_limit_bytes", "gauge", "The limit on disk, 0 where there is none.", "", float64(st.MaxSize))
	const byReason = "kernstash_reasons_total"
	help := "Requests that missed, were not stored or were passed by, by reason."
	for i, n := range counts {
		if reason.Named(stats.Counter(i).String()) != 0 {
			metric(byReason, "counter", help, fmt.Sprintf("{reason=%q}", stats.Counter(i)), float64(n))
			help = ""
		}
	}
	for i, n := range counts {
		of := stats.Counter(i).String()
		if of == "" || reason.Named(of) != 0 {
			continue
		}
		name, value := strings.NewReplacer(".", "_", "-", "_").Replace(of), float64(n)
		if seconds, is := strings.CutSuffix(name, "_time_ns"); is {
			name, value = seconds+"_seconds", value/1e9
		} else if before, what, is := strings.Cut(name, "_bytes_"); is {
			name = before + "_" + what + "_bytes"
		}
		metric("kernstash_"+name+"_total", "counter", "What kernstash stat --json counts as "+of+".", "", value)
	}
	return b.Bytes()
}
