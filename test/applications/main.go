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
	off := flag.Bool("off", true, "also with PoCL's own cache off")
	asJSON := flag.Bool("json", false, "print JSON")
	write := flag.String("write", "", "write the table into APPLICATIONS.md in this `directory`")
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
	defer os.RemoveAll(scratch)
	var results []result
	failed := false
	for _, a := range applications(testdata) {
		if flag.NArg() > 0 && !slices.ContainsFunc(flag.Args(), func(s string) bool { return strings.Contains(a.name, s) }) {
			continue
		}
		if at := missing(a.needs); at != "" {
			needed := *need == "all" || slices.Contains(strings.Split(*need, ","), a.name)
			fmt.Fprintf(os.Stderr, "%s: SKIPPED, there is no %s: apt-get install %s\n", a.name, at, a.debian)
			failed = failed || needed
			continue
		}
		for _, on := range []bool{true, false} {
			if !on && !*off {
				continue
			}
			r, err := measure(ctx, scratch, command, &a, on)
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
		}
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(results)
	}
	if *write != "" && !failed {
		err = errors.Join(err, writeTable(filepath.Join(*write, "APPLICATIONS.md"), results))
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
