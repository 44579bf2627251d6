// Package compile runs compilers that are programs with the cache: where the same was compiled
// before, what the compiler wrote then is written again, and none runs.
package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
)

// An invocation is a run of a compiler whose outcome depends on what is here, and on the compiler.
type invocation struct {
	kind       key.Kind
	code       []byte     // the content of input
	attributes []key.Pair // options, but for those that say where input and output are; what the compiler reads besides
	input      string     // as it was given
	output     string

	// Of compilers that are traced.
	depends  string // the dependency file; "" for none
	replaces bool   // a file that is there is another one then
	timed    bool   // the times of the files that are read count
}

// A compiler tells what its runs mean.
type compiler struct {
	names []string // what its program may be called

	// read returns what the run with these arguments and variables means, or an error that says
	// why nothing can be kept of it.
	read func(args []string, getenv func(string) string) (*invocation, error)

	// messages returns what the compiler wrote to its standard error with the name of its input in
	// place of another's; ok is false where the name may stand elsewhere, too.
	messages func(text, name, other string) (renamed string, ok bool)

	// traced says that what its runs read is found by tracing them.
	traced bool
}

var compilers = []compiler{ptxas, nvcc}

// readInput returns the content of the only input.
func readInput(path string) ([]byte, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the input is not there")
	case err != nil || !info.Mode().IsRegular():
		return nil, errors.New("the input is no regular file") // a pipe can be read once
	}
	return os.ReadFile(path)
}

// compilerOf returns the compiler that a program is by its name; nil for others.
func compilerOf(program string) *compiler {
	i := slices.IndexFunc(compilers, func(c compiler) bool { return slices.Contains(c.names, filepath.Base(program)) })
	if i < 0 {
		return nil
	}
	return &compilers[i]
}

// Names returns the names of the compilers whose runs are kept.
func Names() (names []string) {
	for _, c := range compilers {
		names = append(names, c.names...)
	}
	return names
}

// options are the options of a compiler: of each its two names, one behind the other.
type options struct {
	valued []string // with an argument, behind "=" or as the next word
	joined []string // names behind which it may stand at once
	never  []string // names behind which it is never the next word, as it may be left out
	flags  []string // without
}

// find returns the first name of the option that has a name; "" for none.
func find(all []string, name string) string {
	if i := slices.Index(all, name); i >= 0 {
		return all[i&^1]
	}
	return ""
}

// A commandLine is split into options and what is none.
type commandLine struct {
	options []option
	others  []string
}

type option struct {
	name     string // the first of its names
	argument string
	written  string // the words
}

// split reads a command line of which every option is known.
func (o *options) split(args []string) (l commandLine, err error) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") {
			l.others = append(l.others, word)
			continue
		}
		if flag := find(o.flags, word); flag != "" {
			l.options = append(l.options, option{flag, "", word})
			continue
		}
		name, argument, has := strings.Cut(word, "=")
		for _, j := range o.joined {
			if rest, ok := strings.CutPrefix(word, j); ok && find(o.valued, name) == "" {
				name, argument, has = j, rest, true
			}
		}
		if name = find(o.valued, name); name == "" {
			return l, fmt.Errorf("option %s", word)
		}
		written := word
		if !has {
			if i++; i == len(args) || slices.Contains(o.never, word) {
				return l, fmt.Errorf("option %s without an argument", word)
			}
			argument = args[i]
			written += " " + argument
		}
		l.options = append(l.options, option{name, argument, written})
	}
	return l, nil
}

// take removes the option of a name, which must stand there once, and returns its argument.
func (l *commandLine) take(name string) (argument string, err error) {
	n := 0
	l.options = slices.DeleteFunc(l.options, func(o option) bool {
		if o.name != name {
			return false
		}
		argument = o.argument
		n++
		return true
	})
	if n != 1 {
		return "", fmt.Errorf("%d options %s", n, name)
	}
	return argument, nil
}

// attributes returns the options as attributes, as they are written: a version may refuse one spelling and take
// another. The words of kernstash's options would be looked through by the rules of compilers in a process.
func (l *commandLine) attributes() (pairs []key.Pair) {
	for _, o := range l.options {
		pairs = append(pairs, key.Pair{Name: "option", Value: o.written})
	}
	return pairs
}
