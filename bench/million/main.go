// Command million measures how a root of many entries behaves: what opening it,
// a hit and a put cost against a root of 1,000 entries in the same run, and what
// the command's ls, stat, gc and an eviction take, in time and in memory.
//
//	go run ./million -command PATH [-n 1000000] [-root DIR] [-check]
//
// The root is made in a temporary directory, which takes minutes, and removed in
// the end; one that is named is completed, used and kept. Some of the
// entries are evicted by the last measurement.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/store/disk"
)

func main() {
	n := flag.Int("n", 1_000_000, "number of entries")
	root := flag.String("root", "", "a root to complete, use and keep")
	command := flag.String("command", "", "the kernstash command")
	only := flag.String("only", "", "take only the steps of these names, with commas between: "+names())
	check := flag.Bool("check", false, "fail if something is over its bar")
	limit := flag.Int64("evict", 0, "evict to two thirds of so many bytes in root, and end: what this command starts itself as")
	flag.Parse()
	var err error
	if *limit > 0 {
		err = evictChild(*root, *limit)
	} else {
		err = run(*n, *root, *command, *only, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "million:", err)
		os.Exit(1)
	}
}

var errOver = errors.New("something is over its bar")

// steps are what is measured, in this order: the last one takes entries away.
var steps = []struct {
	name string
	do   func(t *table, root, small, command string, n int) error
}{
	{"sample", sample},
	{"open", opening},
	{"hit", hits},
	{"put", puts},
	{"records", recorded},
	{"waiting", waiting},
	{"commands", commands},
	{"space", space},
	{"evict", eviction},
}

func names() string {
	var all []string
	for _, s := range steps {
		all = append(all, s.name)
	}
	return strings.Join(all, ",")
}

func run(n int, root, command, only string, check bool) error {
	if command == "" {
		return errors.New("-command: which kernstash?")
	}
	command, err := filepath.Abs(command)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kernstash-million")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if root == "" {
		root = filepath.Join(dir, "root")
	}
	small := filepath.Join(dir, "small")
	if err := fill(small, 0, smallEntries, nil); err != nil {
		return err
	}
	if err := complete(root, n); err != nil {
		return err
	}
	t := &table{}
	for _, step := range steps {
		if only != "" && !slices.Contains(strings.Split(only, ","), step.name) {
			continue
		}
		if err := step.do(t, root, small, command, n); err != nil {
			return err
		}
	}
	t.print(n)
	if check && t.over {
		return errOver
	}
	return nil
}

// complete puts what is missing of the first n entries: what an eviction took.
func complete(root string, n int) error {
	start := time.Now()
	s := disk.New(disk.Options{Dir: root})
	st := s.Status()
	s.Close()
	if st.Counted && st.Entries >= int64(n) {
		return nil
	}
	err := fill(root, 0, n, func(done int64) {
		if done%50_000 == 0 {
			fmt.Fprintf(os.Stderr, "%d entries in %v\n", done, time.Since(start).Round(time.Second))
		}
	})
	fmt.Fprintf(os.Stderr, "the root is ready after %v\n", time.Since(start).Round(time.Second))
	return err
}
