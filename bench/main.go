// Command bench measures what the cache costs, as ratios to what is compared
// with in the same run: bare system calls, a bare hash, a bare map.
//
//	go run . [-rounds 15] [-json] [-check]
//
// Each row alternates between the two sides, so that a noisy machine disturbs
// both alike, and reports the median of the rounds. With -check the exit
// status is 1 if a row is over its bar in each of three tries.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 15, "how often each side of a row is measured")
	asJSON := flag.Bool("json", false, "print JSON")
	check := flag.Bool("check", false, "fail if a row is over its bar")
	only := flag.String("only", "", "measure only rows whose name contains this")
	flag.Parse()
	tries := 1
	if *check {
		tries = 3
	}
	results, err := measureAll(*rounds, tries, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(map[string]any{"machine": machine(), "rounds": *rounds, "rows": results})
	} else {
		printTable(results, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	for _, r := range results {
		if *check && !r.Within {
			os.Exit(1)
		}
	}
}

func measureAll(rounds, tries int, only string) ([]result, error) {
	var results []result
	dir, err := os.MkdirTemp("", "kernstash-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, group := range []func(dir string) ([]row, func(), error){memoryRows, keyRows, diskRows} {
		rows, done, err := group(dir)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if strings.Contains(r.name, only) {
				results = append(results, r.measureUntilWithin(rounds, tries))
			}
		}
		done()
	}
	return results, nil
}

func printTable(results []result, rounds int) {
	fmt.Printf("%s; medians of %d rounds\n\n", machine(), rounds)
	fmt.Printf("%-58s %11s %11s %7s  %s\n", "what", "kernstash", "compared", "ratio", "bar")
	for _, r := range results {
		verdict := "ok"
		if !r.Within {
			verdict = "OVER"
		}
		fmt.Printf("%-58s %11s %11s %7.2f  %s: %s\n", r.Name, short(r.Ours), short(r.Theirs), r.Ratio, r.Bar, verdict)
	}
}

func short(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1e3)
	}
	return fmt.Sprintf("%.1f ms", float64(d.Nanoseconds())/1e6)
}

func machine() string {
	model := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d CPUs, %s, %s", model, runtime.GOMAXPROCS(0), runtime.GOOS, runtime.Version())
}
