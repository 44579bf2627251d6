// Command replay compares what goes first when a cache is full, on traces of
// requests that were recorded or made up: the policies of store/disk with
// textbook ones, and with what no policy can exceed.
//
//	go run ./replay [-trace FILE] [-json FILE] [-write ../docs] [-real]
//	go run ./replay -from-trace FILE [-every 90m] >my.csv
//	go run ./replay -list; go run ./replay -make zipf >zipf.csv
//
// A trace is CSV: seconds since its beginning, process, key, bytes, milliseconds
// that building takes. README.md says more.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var (
		one    = flag.String("trace", "", "replay this trace alone")
		asJSON = flag.String("json", "", "write everything to this file; - for standard output, in place of the table")
		write  = flag.String("write", "", "replace the tables and plots of RESULTS.md in this directory")
		real   = flag.Bool("real", false, "also replay cost and lru against the real store/disk, and fail where it differs")
		from   = flag.String("from-trace", "", "print the trace of what KERNSTASH_TRACE=disk wrote to a file")
		every  = flag.Duration("every", 0, "with -from-trace: let each process begin so much later than the one before")
		list   = flag.Bool("list", false, "list the traces")
		make   = flag.String("make", "", "print one of the traces")
	)
	flag.Parse()
	err := func() error {
		if *from != "" {
			return printConverted(*from, *every)
		}
		traces, err := loadTraces(*one)
		if err != nil {
			return err
		}
		if *list || *make != "" {
			return printTraces(traces, *make)
		}
		report, err := compare(context.Background(), traces, *real)
		if err != nil {
			return err
		}
		if *asJSON != "-" {
			report.print(os.Stdout)
		}
		if *asJSON != "" {
			if err := report.writeJSON(*asJSON); err != nil {
				return err
			}
		}
		if *write != "" {
			return report.write(*write)
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func printConverted(path string, every time.Duration) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	trace, err := convert(f, every)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeTrace(os.Stdout, trace)
}

func printTraces(traces []namedTrace, name string) error {
	for _, t := range traces {
		if name == t.Name {
			return writeTrace(os.Stdout, t.requests)
		}
		if name == "" {
			s := shapeOf(t.requests)
			fmt.Printf("%-10s %6d requests for %5d artifacts of %s; %s\n", t.Name, s.requests, s.keys, megabytes(s.bytes), t.Title)
		}
	}
	if name != "" {
		return fmt.Errorf("no trace %q; see -list", name)
	}
	return nil
}

func (r *report) writeJSON(path string) error {
	to := os.Stdout
	if path != "-" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		to = f
	}
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
