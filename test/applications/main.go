package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := show(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "applications:", err)
		os.Exit(1)
	}
}

func show(ctx context.Context) error {
	bin := flag.String("bin", "../bin/kernstash", "the `command`, with its libraries beside it")
	need := flag.String("need", "", "applications that must be installed, separated by `,`; \"all\"")
	set := flag.String("set", "", "also set these `variables`, NAME=VALUE, separated by blanks: they stand in the row")
	long := flag.Bool("long", false, "also those that take many minutes")
	asJSON := flag.Bool("json", false, "print JSON")
	write := flag.String("write", "", "write each row, when it is measured, into the table of APPLICATIONS.md in this `directory`; rows that are not measured stay")
	flag.Parse()
	command, err := filepath.Abs(*bin)
	if err != nil {
		return err
	}
	if _, err := os.Stat(command); err != nil {
		return fmt.Errorf("there is no command at %s: make build lib", command)
	}
	testdata, err := filepath.Abs("applications/testdata")
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "kernstash-applications")
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			_ = os.RemoveAll(scratch)
		}
	}()
	var results []result
	failed := false
	for _, a := range applications(testdata) {
		if flag.NArg() > 0 && !slices.ContainsFunc(flag.Args(), func(s string) bool { return strings.Contains(a.name, s) }) {
			continue
		}
		if a.long && !*long {
			continue
		}
		if at := missing(a.needs); at != "" {
			needed := *need == "all" || slices.Contains(strings.Split(*need, ","), a.name)
			fmt.Fprintf(os.Stderr, "%s: SKIPPED, there is no %s: apt-get install %s\n", a.name, at, a.debian)
			failed = failed || needed
			continue
		}
		a.env = slices.Sorted(slices.Values(append(strings.Fields(*set), a.env...)))
		r, err := measure(ctx, scratch, command, &a)
		if err != nil {
			return err
		}
		results = append(results, r)
		if !*asJSON {
			fmt.Println(r.line())
		}
		for _, w := range r.Wrong {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: WRONG: %s\n", a.name, w)
		}
		switch {
		case r.Kept != "":
			kept = true
			fmt.Fprintf(os.Stderr, "%s: its cache, and what it said, are kept in %s\n", a.name, r.Kept)
		case *write != "" && len(r.Wrong) == 0:
			if err := writeRow(filepath.Join(*write, "APPLICATIONS.md"), &r); err != nil {
				return err
			}
		}
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(results)
	}
	if failed {
		err = errors.Join(err, errors.New("not all is as it must be"))
	}
	return err
}

// missing returns the first file that is not there.
func missing(files []string) string {
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return f
		}
	}
	return ""
}
