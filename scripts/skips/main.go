// Skips runs go test, notes which tests were skipped, and compares them with a list.
//
//	skips run DIR go test ARGUMENTS   as go test, with a file of results in DIR
//	skips check LIST DIR              fails on a skip that LIST lacks
//
// A test that one run skips and another one runs was not skipped. A line of LIST
// holds a package's folder, a test's name and what the reason that the test gives
// contains; * in a name stands for anything. Lines that begin with # are comments.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	status, err := 2, errors.New("usage: skips run DIR go test ARGUMENTS | skips check LIST DIR")
	switch args := os.Args[1:]; {
	case len(args) > 3 && args[0] == "run":
		status, err = run(args[1], args[2:])
	case len(args) == 3 && args[0] == "check":
		status, err = check(os.Stdout, args[1], args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
	}
	os.Exit(status)
}

// A result is what became of a test in one run.
type result struct {
	Package, Test string
	Skipped       bool
	Reason        string // what the test wrote, if it was skipped
}

func (r result) name() string { return r.Package + " " + r.Test }

// run runs a command that begins with go test, and returns its status.
func run(dir string, command []string) (int, error) {
	cmd := exec.Command(command[0], append([]string{command[1], "-json"}, command[2:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	results, readErr := read(out, os.Stdout, slices.Contains(command, "-v"))
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	if readErr != nil {
		return 1, readErr
	}
	if err := write(dir, results); err != nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

func write(dir string, results []result) error {
	f, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		return err
	}
	b, err := json.Marshal(results)
	if err == nil {
		_, err = f.Write(b)
	}
	return errors.Join(err, f.Close())
}

// ended matches a line that says how a test ended. A test that runs itself in another
// process logs such lines of that, too.
var ended = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)

// read returns the results in the output of go test -json. It writes to w what go
// test says without -json.
func read(r io.Reader, w io.Writer, verbose bool) ([]result, error) {
	type event struct{ Action, Package, Test, Output string }
	var results []result
	written := make(map[string]string) // by a running test of a package
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		var e event
		if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(w, "%s", line)
			continue
		}
		id := e.Package + " " + e.Test
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			switch {
			case verbose || e.Test == "" && e.Output != "PASS\n":
				fmt.Fprint(w, e.Output)
			}
			if e.Test != "" {
				written[id] += e.Output
			}
		case "pass", "fail", "skip":
			if e.Action == "fail" && !verbose {
				if e.Test == "" { // what ran when the process ended
					for _, unfinished := range sortedKeys(written) {
						if strings.HasPrefix(unfinished, id) {
							fmt.Fprint(w, written[unfinished])
						}
					}
				}
				fmt.Fprint(w, written[id])
			}
			for _, m := range ended.FindAllStringSubmatch(written[id], -1) {
				one := result{Package: strings.TrimPrefix(strings.TrimPrefix(e.Package, module), "/"), Test: m[2], Skipped: m[1] == "SKIP"}
				if one.Package == "" {
					one.Package = "."
				}
				if one.Skipped {
					one.Reason = written[id]
				}
				results = append(results, one)
			}
			delete(written, id)
		}
	}
}

const module = "github.com/kernstash/kernstash"

func sortedKeys(m map[string]string) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// An allowance is a line of the list.
type allowance struct{ name, reason string }

func readList(name string) ([]allowance, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []allowance
	for l := range strings.Lines(string(b)) {
		fields := strings.Fields(l)
		switch {
		case len(fields) == 0 || strings.HasPrefix(l, "#"):
		case len(fields) < 3:
			return nil, fmt.Errorf("%s: no package, test and reason: %s", name, l)
		default:
			all = append(all, allowance{fields[0] + " " + fields[1], strings.Join(fields[2:], " ")})
		}
	}
	return all, nil
}

// check compares the skips of the runs in dir with the list.
func check(w io.Writer, list, dir string) (int, error) {
	allowed, err := readList(list)
	if err != nil {
		return 1, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return 1, err
	}
	ran := make(map[string]bool)
	skipped := make(map[string]string)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return 1, err
		}
		var results []result
		if err := json.Unmarshal(b, &results); err != nil {
			return 1, fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range results {
			if r.Skipped {
				skipped[r.name()] = r.Reason
			} else {
				ran[r.name()] = true
			}
		}
	}
	if len(ran) == 0 {
		return 1, fmt.Errorf("no test was run: %s holds no results", dir)
	}
	status, count := 0, 0
	used := make([]bool, len(allowed))
	for _, name := range sortedKeys(skipped) {
		if ran[name] {
			continue
		}
		count++
		i := slices.IndexFunc(allowed, func(a allowance) bool {
			ok, _ := path.Match(a.name, name)
			return ok && strings.Contains(skipped[name], a.reason)
		})
		if i < 0 {
			status = 1
			fmt.Fprintf(w, "skipped, and not in %s: %s\n%s", list, name, skipped[name])
			continue
		}
		used[i] = true
	}
	for i, a := range allowed {
		if !used[i] {
			fmt.Fprintf(w, "in %s, and not skipped: %s\n", list, a.name)
		}
	}
	fmt.Fprintf(w, "%d tests ran, %d were skipped in each run\n", len(ran), count)
	return status, nil
}
