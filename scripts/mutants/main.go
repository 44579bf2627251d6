// Command mutants shows that the tests of the fleet notice when one of its rules is broken.
//
//	go run ./scripts/mutants [-rule N] [-run REGEXP]
//	go run ./scripts/mutants -list >docs/MUTANTS.md
//
// Each mutant (rules.go) is a change of one file, and names a test. The test is run without the change and
// must pass, and with the change (go test -overlay, so that the tree stays as it is), and must fail: then
// the mutant is killed. The command succeeds if all are. It is run in the root of the repository.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A mutant is a change of one file that breaks a rule.
type mutant struct {
	rule     int    // its number
	breaks   string // what is broken, for people
	file     string
	old, new string // old stands in the file once
	pkg      string // that has the test; "": that of the file
	test     string // a function
}

func (m mutant) dir() string { return cmp.Or(m.pkg, filepath.Dir(m.file)) }

func main() {
	rule := flag.Int("rule", 0, "only mutants of this rule")
	run := flag.String("run", "", "only mutants whose description, file or test this regular expression matches")
	list := flag.Bool("list", false, "print the mutants, as Markdown, and run nothing")
	limit := flag.Duration("timeout", time.Minute, "how long a test may take")
	flag.Parse()
	err := errors.New("usage: mutants [-rule N] [-run REGEXP] [-list] [-timeout DURATION]")
	if flag.NArg() == 0 {
		err = do(os.Stdout, *rule, *run, *list, *limit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func do(w io.Writer, rule int, run string, list bool, limit time.Duration) error {
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	var some []mutant
	for _, m := range mutants {
		if (rule == 0 || m.rule == rule) && wanted.MatchString(strings.Join([]string{m.breaks, m.file, m.dir(), m.test}, "\n")) {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return errors.New("no mutant is of that kind")
	}
	if list {
		_, err := io.WriteString(w, markdown(some))
		return err
	}
	r := runner{limit: limit, healthy: make(map[string]error)}
	survivors := 0
	for _, m := range some {
		begin := time.Now()
		verdict, told := r.try(m)
		fmt.Fprintf(w, "%-8s rule %2d, %s: %s (%s, %.1f s)\n", verdict, m.rule, m.file, m.breaks, m.test, time.Since(begin).Seconds())
		if verdict != killed {
			survivors++
			fmt.Fprintf(w, "\t%s\n", strings.ReplaceAll(strings.TrimSpace(told), "\n", "\n\t"))
		}
	}
	if survivors > 0 {
		return fmt.Errorf("%d of %d mutants are not killed", survivors, len(some))
	}
	fmt.Fprintf(w, "all %d mutants are killed\n", len(some))
	return nil
}

// What becomes of a mutant.
const (
	killed   = "killed"
	survived = "SURVIVED"
	useless  = "USELESS" // it says nothing of the test
)

// runner runs tests.
type runner struct {
	limit   time.Duration
	healthy map[string]error // tests without a change, by package and name
}

// try returns what becomes of a mutant; told is why, unless it is killed.
func (r *runner) try(m mutant) (verdict, told string) {
	b, err := os.ReadFile(m.file)
	if err != nil {
		return useless, err.Error()
	}
	changed, err := m.apply(string(b))
	if err != nil {
		return useless, err.Error()
	}
	if err := r.passes(m); err != nil {
		return useless, err.Error()
	}
	dir, err := os.MkdirTemp("", "kernstash-mutants-")
	if err != nil {
		return useless, err.Error()
	}
	defer os.RemoveAll(dir)
	overlay, err := overlay(dir, m.file, changed)
	if err != nil {
		return useless, err.Error()
	}
	out, err := r.test(m, "-count=1", "-overlay", overlay)
	switch {
	case err == nil:
		return survived, "the test passes"
	case !failed.MatchString(out):
		return useless, "it does not compile, or the test does not run:\n" + out
	}
	return killed, ""
}

// passes returns nil where the test of a mutant runs, and passes, without the change. What go test
// remembers of that counts.
func (r *runner) passes(m mutant) error {
	id := m.dir() + " " + m.test
	err, known := r.healthy[id]
	if !known {
		var out string
		if out, err = r.test(m); err != nil {
			err = fmt.Errorf("the test fails without the change, too:\n%s", out)
		} else if !strings.Contains(out, "--- PASS: "+m.test+" ") || strings.Contains(out, "--- SKIP: ") {
			err = fmt.Errorf("the test, or a part of it, is not run here:\n%s", out)
		}
		r.healthy[id] = err
	}
	return err
}

// test runs the test of a mutant and returns what it says.
func (r *runner) test(m mutant, args ...string) (string, error) {
	// The test's own limit has it say where it hangs. To compile takes its time, too.
	ctx, cancel := context.WithTimeout(context.Background(), r.limit+5*time.Minute)
	defer cancel()
	args = append([]string{"test", "-vet=off", "-v", "-timeout", r.limit.String(), "-run", "^" + m.test + "$"}, append(args, "./"+m.dir())...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failed matches what go test says of a package whose tests ran, and failed.
var failed = regexp.MustCompile(`(?m)^FAIL\t\S+\t[0-9.]+s$`)

// apply returns a file with the change.
func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 || m.old == m.new {
		return "", fmt.Errorf("it does not apply: the text stands %d times in %s", n, m.file)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// overlay writes a changed file into dir, and what tells go to take it instead.
func overlay(dir, file, changed string) (string, error) {
	original, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	instead, name := filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]map[string]string{"Replace": {original: instead}})
	if err == nil {
		err = os.WriteFile(instead, []byte(changed), 0o600)
	}
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	return name, err
}

// markdown returns docs/MUTANTS.md.
func markdown(some []mutant) string {
	var b strings.Builder
	b.WriteString("# Rules of the fleet, broken on purpose\n\n" +
		"`go run ./scripts/mutants` breaks each rule as the table says, one at a time, and wants the test to fail. It was made by\n" +
		"`go run ./scripts/mutants -list`.\n")
	for i, m := range some {
		if i == 0 || some[i-1].rule != m.rule {
			fmt.Fprintf(&b, "\n## %d. %s\n\n| Broken so | In | Noticed by |\n|---|---|---|\n", m.rule, rules[m.rule])
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s`, %s |\n", strings.ReplaceAll(m.breaks, "|", `\|`), m.file, m.dir(), m.test)
	}
	return b.String()
}
