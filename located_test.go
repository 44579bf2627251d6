package kernstash

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// A source that reads no file is the same wherever its caller searches for some, and
// another one where it is built elsewhere with debug information. It is not cached where it
// names its own file and the compiler calls that something else each time.
func TestSourcesThatReadNothing(t *testing.T) { // not parallel: it changes the working directory
	first, second := t.TempDir(), t.TempDir()
	const plain, named = "kernel void k() {}\n", "kernel void k() { int n = sizeof(__FI\\\nLE__); }\n"
	type step struct {
		dir, options string
		builds       int
	}
	tests := []struct {
		name    string
		units   []string
		unnamed bool
		steps   []step
		against bool
	}{
		{"directories to search", []string{plain}, false, []step{{first, "-DN -I/a -O1", 1}, {second, "-DN -I /b -O1", 0}, {second, "-DN -O1", 0}}, false},
		{"debug information", []string{plain}, false, []step{{first, "-g", 1}, {second, "-g", 1}, {first, "-g", 0}, {second, "-g", 0}, {first, "", 1}, {second, "", 0}}, false},
		{"and directories", []string{plain}, false, []step{{first, "-g -I/a", 1}, {first, "-g -I/b", 1}, {first, "-g -I/a", 0}}, false},
		{"no debug information", []string{plain}, false, []step{{first, "-g0", 1}, {second, "-g0", 0}}, false},
		{"the file's name", []string{named}, false, []step{{first, "", 1}, {second, "", 1}, {first, "", 0}}, false},
		{"the file's name, a random one", []string{named}, true, []step{{first, "", 1}, {first, "", 1}}, true},
		{"the file's name in an option", []string{plain}, false, []step{{first, "-DWHERE=__FILE__", 1}, {first, "-DWHERE=__FILE__", 1}}, true},
		{"debug information of what is linked", []string{plain, plain + "\n"}, false, []step{{first, "-g", 1}, {first, "-g", 1}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := newRoot(t)
			inProcess := fakeContextOn(openCache(t, newRoot(t)), newReader(t))
			for i, s := range tt.steps {
				t.Chdir(s.dir)
				f := newReader(t)
				f.search[0].Main, f.search[0].Unnamed = "/somewhere", tt.unnamed
				var units []key.Unit
				for _, code := range tt.units {
					units = append(units, key.Unit{Kind: key.OpenCLC, Code: []byte(code)})
				}
				img, err := NewImageSet(units...)
				if err != nil {
					t.Fatal(err)
				}
				r := Request{Image: img, CompileOptions: s.options}
				_, counted := once(t, root, f, r)
				if n := counted[stats.Builds]; n != int64(s.builds) {
					t.Errorf("step %d: %d builds, want %d", i, n, s.builds)
				}
				if against := counted[stats.Of(reason.NotCacheableFile)] + counted[stats.Of(reason.NotCacheableOptions)]; (against > 0) != tt.against {
					t.Errorf("step %d: counted %v", i, counted)
				}
				p, err := inProcess.Program(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				built, err := p.Native(0)
				if err != nil {
					t.Fatal(err)
				}
				if dir, _ := os.Getwd(); s.options == "-g" && !tt.against && built.dir != dir {
					t.Errorf("step %d: a program of another directory, %q", i, built.dir)
				}
				p.Release()
			}
		})
	}
}

// A file of the name of a header in memory makes a program uncacheable where the compiler
// looks for files, as long as it is there.
func TestFilesThatHideHeadersInMemory(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"main", "first", "last", "system", ""} {
		dir := newTree(t, map[string]string{"main/no": "", "first/no": "", "last/no": "", "system/no": ""})
		f := newReader(t)
		*f.search[0] = deps.Search{Main: dir + "/main", First: []string{dir + "/first"}, Last: []string{dir + "/last"}, System: []string{dir + "/system"}}
		request := func() Request {
			img, err := NewImage(key.OpenCLC, []byte("#include \"sub/given.h\"\nkernel void k() {}\n"), key.Header{Name: "sub/given.h", Content: []byte("int a;\n")})
			if err != nil {
				t.Fatal(err)
			}
			return Request{Image: img}
		}
		hidden := int64(0)
		if place != "" {
			putFile(t, dir+"/"+place+"/sub/given.h", "int b;\n")
			hidden = 1
		}
		if _, s := once(t, newRoot(t), f, request()); s[stats.Of(reason.NotCacheableHeaders)] != hidden || s[stats.DiskMisses] != 1-hidden {
			t.Errorf("in %q: counted %v", place, s)
		}
	}
}

// A link to a directory that is switched while a program is compiled, and back, has it
// compiled of nobody knows which files.
func TestALinkThatIsSwitchedDuringTheBuild(t *testing.T) {
	t.Parallel()
	for _, switched := range []bool{false, true} {
		dir := newTree(t, map[string]string{"v1/a.h": "one\n", "v2/a.h": "two\n"})
		to := func(version string) error {
			return errors.Join(os.Symlink(version, dir+"/new"), os.Rename(dir+"/new", dir+"/current"))
		}
		if err := to("v1"); err != nil {
			t.Fatal(err)
		}
		f := newReader(t)
		f.build = func(context.Context, Job) error {
			if !switched {
				return nil
			}
			return errors.Join(to("v2"), to("v1"))
		}
		_, s := once(t, newRoot(t), f, Request{Image: image(t, "#include <a.h>\n"), CompileOptions: "-I" + dir + "/current"})
		if changed := s[stats.Of(reason.NotCacheableChanged)] > 0; changed != switched {
			t.Errorf("switched %v: counted %v", switched, s)
		}
	}
}
