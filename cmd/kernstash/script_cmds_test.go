package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store/disk"
)

// status runs a program and wants an exit status: status N PROGRAM ARG….
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// onKey returns what runs a command of kernstash with the key that a file holds: show FILE ARG….
func onKey(command string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		k := strings.TrimSpace(ts.ReadFile(args[0]))
		err := ts.Exec("kernstash", append([]string{command, k}, args[1:]...)...)
		if neg != (err != nil) {
			ts.Fatalf("%s %s: %v", command, k, err)
		}
	}
}

// ambiguous checks that a prefix of several keys is refused: of forty keys two
// begin alike.
func ambiguous(ts *testscript.TestScript, _ bool, _ []string) {
	seen := make(map[byte]bool)
	for _, k := range keysIn(ts, ts.Getenv("KERNSTASH_DIR")) {
		if seen[k[0]] {
			status(ts, false, []string{"2", "kernstash", "show", k[:1]})
			return
		}
		seen[k[0]] = true
	}
	ts.Fatalf("no two keys begin alike")
}

func keysIn(ts *testscript.TestScript, dir string) (keys []string) {
	d := disk.New(disk.Options{Dir: dir})
	defer d.Close()
	for info, err := range d.List(context.Background()) {
		ts.Check(err)
		keys = append(keys, info.Key.String())
	}
	return keys
}

// entryFile returns the file of the entry with a kernel.
func entryFile(ts *testscript.TestScript, dir, kernel string) string {
	dir = ts.MkAbs(dir)
	d := disk.New(disk.Options{Dir: dir})
	defer d.Close()
	for info, err := range d.List(context.Background()) {
		ts.Check(err)
		if len(info.Kernels) > 0 && info.Kernels[0] == kernel {
			return filepath.Join(dir, filepath.FromSlash(info.Location))
		}
	}
	ts.Fatalf("no entry with kernel %s", kernel)
	return ""
}

// damage flips the last bit of an entry: damage DIR KERNEL.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	path := entryFile(ts, args[0], args[1])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[len(b)-1] ^= 1
	ts.Check(os.WriteFile(path, b, 0o600))
}

// cut halves the header of an entry: cut DIR KERNEL.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Truncate(entryFile(ts, args[0], args[1]), 40))
}

// older makes an entry one of format 3 that was not used for two days: older DIR KERNEL.
func older(ts *testscript.TestScript, _ bool, args []string) {
	bin := entryFile(ts, args[0], args[1])
	for _, path := range []string{bin, strings.TrimSuffix(bin, ".bin") + ".src"} {
		b, err := os.ReadFile(path)
		ts.Check(err)
		b[8] = 3
		ts.Check(os.WriteFile(path, b, 0o600))
		at := time.Now().Add(-48 * time.Hour)
		ts.Check(os.Chtimes(path, at, at))
	}
}

// damageHeaders appends to the contents of header files: damage-headers DIR.
func damageHeaders(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), ".meta", "headers", "*", "*"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no headers in %s", args[0])
	}
	for _, path := range files {
		ts.Check(os.WriteFile(path, []byte("other bytes"), 0o600))
	}
}

// stashRecord records something of entry N of stash-put, or of that with the kernel N, now:
//
//	stash-record DIR hits APP N HITS SECONDS    that were saved
//	stash-record DIR miss APP N SECONDS TIMES [REASON]
//	stash-record DIR gone REASON N
func stashRecord(ts *testscript.TestScript, _ bool, args []string) {
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		return n
	}
	d := disk.New(disk.Options{Dir: ts.MkAbs(args[0])})
	defer d.Close()
	l := records.Line{Kind: records.Kind(args[1]), At: time.Now(), Since: time.Now(), App: args[2]}
	if n, err := strconv.Atoi(args[3]); err == nil {
		e, err := testEntry(n)
		ts.Check(err)
		l.Entry, l.Label = records.EntryOf(e.Key), e.Artifact.Kernels[0].Name
	}
	for info, err := range d.List(context.Background()) {
		ts.Check(err)
		if slices.Equal(info.Kernels, args[3:4]) {
			l.Entry = records.EntryOf(info.Key)
		}
	}
	times := 1
	switch l.Kind {
	case records.Hits:
		l.Hits, l.Saved = int64(number(4)), time.Duration(number(5))*time.Second
	case records.Miss:
		l.Reason, l.Cost, times = "miss.absent", time.Duration(number(4))*time.Second, number(5)
		if len(args) > 6 {
			l.Reason = args[6]
		}
	default:
		l.App, l.Reason, l.Entry.Key = "", args[2], key.Key{}
	}
	b := []byte("\n")
	for range times {
		b = l.Append(b)
	}
	ts.Check(d.AppendRecords(b))
}

// waitInterrupted is a command whose work takes longer than anybody waits.
func waitInterrupted() {
	a := &cli.App{Err: os.Stderr}
	ctx, release := a.Interruptible()
	defer release()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("cancelled")
	time.Sleep(time.Minute)
}

// waitsForAgent waits until the agent that the script has set answers.
func waitsForAgent(ts *testscript.TestScript, _ bool, _ []string) {
	c := client.New(client.Options{Paths: []string{ts.Getenv("KERNSTASH_AGENT")}, Timeout: time.Minute})
	for range 3600 {
		if _, err := c.Status(context.Background(), new(any)); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
		c = client.New(client.Options{Paths: []string{ts.Getenv("KERNSTASH_AGENT")}, Timeout: time.Minute})
	}
	ts.Fatalf("no agent answers")
}
