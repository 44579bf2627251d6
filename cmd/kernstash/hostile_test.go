package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// hostileText is what no terminal may be given: a title, a colour by a
// character of two bytes, a delete, what reverses text, bytes that are no
// UTF-8, a line of its own.
const hostileText = "x\x1b]0;owned\x07\x9b31m\u009b31m\x7f\u202egpj\u2066\x00\xff\r\nok: forged"

// fillHostile stores entries whose every text is hostile, one of them damaged,
// and returns a key.
func fillHostile(t *testing.T, dir string) key.Key {
	t.Helper()
	d := disk.New(disk.Options{Dir: dir})
	defer d.Close()
	var last *store.Entry
	for i := range 2 {
		e, err := testEntry(i)
		if err != nil {
			t.Fatal(err)
		}
		h := hostileText
		e.Recipe.Device = key.Device{
			API: h, Platform: h, Name: h, Version: h, Driver: h,
			Traits: []key.Pair{{Name: h, Value: h}}, Compiler: []key.Pair{{Name: h, Value: h}},
		}
		image, err := key.NewImage(key.OpenCLC, []byte(h+fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		e.Recipe.Image = image
		e.Recipe.Options.Compile, e.Recipe.Options.Link = []string{h}, []string{h}
		e.Recipe.Options.Variables = []key.Pair{{Name: h, Value: h}}
		e.Recipe.Options.Attributes, e.Recipe.Options.Unkeyed = e.Recipe.Options.Variables, e.Recipe.Options.Variables
		e.Key = e.Recipe.Key()
		e.Artifact.Log = h + "\n" + h
		e.Artifact.Variants = []string{h}
		e.Artifact.Kernels = []store.Kernel{{Name: h, Attributes: h, Args: []store.Arg{{Name: h, TypeName: h}}}}
		if _, err := d.Put(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			damageAll(t, dir)
		}
		last = e
	}
	return last.Key
}

func damageAll(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".bin") {
			return os.Truncate(path, 300)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHostileTextIsNotPrinted: whatever drivers, sources and paths are called,
// what the command prints holds no control character, in JSON neither, and
// nothing of it makes a line of its own.
func TestHostileTextIsNotPrinted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache\x1b[31m\u009b")
	k := fillHostile(t, dir).String()
	for _, args := range [][]string{
		{"ls"},
		{"ls", "--long", "--sort", "name"},
		{"ls", "--tree"},
		{"du"},
		{"clear", "--dry-run"},
		{"show", k},
		{"stat"},
		{"verify"},
		{"gc"},
		{"doctor", "--quick"},
		{"config"},
		{"clear", "--yes"},
		{"show", "12345678\x1b"},
		{"nothing\x1b[31m"},
		{"ls", "--set", "max-size=\x1b[31m"},
		{"ls", "--sort", "\x1b[31m"},
		{"ls", "--config", dir + "/none"},
		{"__complete", "show", ""},
		{"clear", "--yes"},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			var out, errs bytes.Buffer
			status := run(slices.Concat([]string{args[0]}, more, []string{"--dir", dir}, args[1:]), strings.NewReader(""), &out, &errs)
			if args[0] == "__complete" {
				run([]string{"__complete", "--dir", dir, "show", ""}, strings.NewReader(""), &out, &errs)
			}
			for _, text := range []string{out.String(), errs.String()} {
				for i, r := range text {
					if human.IsControl(r) && r != '\n' && r != '\t' && !strings.HasPrefix(text[i:], "�") {
						t.Errorf("%q: %q is printed: …%q", args, r, text[max(0, i-40):min(len(text), i+20)])
						break
					}
				}
				if strings.Contains(text, "\nok: forged") {
					t.Errorf("%q: a line was forged:\n%s", args, text)
				}
			}
			if more != nil && status == cli.ExitOK && args[0] != "__complete" {
				for dec := json.NewDecoder(&out); dec.More(); {
					var v any
					if err := dec.Decode(&v); err != nil {
						t.Errorf("%q: no JSON: %v", args, err)
						break
					}
				}
			}
		}
	}
}

// TestEscapedJSON: what is escaped means the same.
func TestEscapedJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &cli.App{Out: &out}
	in := "a\u009b\x7f\u202e\u2028é�\x1b\n<"
	if err := terminal.EncodeJSON(a.Out, map[string]string{"v": in}, "  "); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["v"] != in {
		t.Errorf("%s is %q, %v", out.Bytes(), back["v"], err)
	}
	if want := "{\n  \"v\": \"a\\u009b\\u007f\\u202e\\u2028é�\\u001b\\n<\"\n}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
