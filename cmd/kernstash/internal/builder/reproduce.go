package builder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Reproduce returns the commands that build an entry again, on a machine that has its device, driver and header files. a,
// which may be nil, says for which launches it is ready. An error says why Build cannot.
func Reproduce(k key.Key, r *key.Recipe, a *store.Artifact) (string, error) {
	units, rt := r.Image.Units(), runtimes.Named(r.Device.API)
	switch {
	case !runtimes.Linked:
		return "", runtimes.ErrNone
	case rt == nil || len(units) != 1 || !slices.Contains(rt.Files, units[0].Kind):
		return "", errors.New("its code is not in one file of those that 'kernstash build' takes")
	case len(units[0].Headers) > 0:
		return "", errors.New("the program handed header files over in memory")
	case len(r.Constants) > 0:
		return "", errors.New("the program set constants")
	case len(r.Options.Link) > 0:
		return "", errors.New("it has link options")
	case units[0].Dir != "":
		return "", fmt.Errorf("its code depends on paths: the program ran in %s", units[0].Dir)
	}
	file := "program"
	for ending, kind := range kinds { // each has one
		if kind == units[0].Kind {
			file += ending
		}
	}
	words := []string{"kernstash", "build", "--runtime", rt.Name}
	var err error
	if rt.Devices == nil {
		words, err = compilerWords(words, r)
	} else {
		words, err = deviceWords(words, r, a)
	}
	if err != nil {
		return "", err
	}
	var line strings.Builder
	fmt.Fprintf(&line, "kernstash show %s --source > %s && ", k.Short(), file)
	for _, v := range r.Options.Variables {
		fmt.Fprintf(&line, "%s=%s ", v.Name, quote(v.Value))
	}
	for _, w := range words {
		line.WriteString(quote(w) + " ")
	}
	return line.String() + file, nil
}

// compilerWords adds what a compiler is told that needs no device.
func compilerWords(words []string, r *key.Recipe) ([]string, error) {
	q, err := rtc.FromRecipe(r)
	if err != nil {
		return nil, err
	}
	for _, e := range q.Expressions {
		words = append(words, "--name-expression", e)
	}
	options := make([]string, len(q.Options))
	for i, o := range q.Options {
		options[i] = quote(o)
	}
	return append(words, "--program-name", q.Name, "--options", strings.Join(options, " ")), nil
}

// deviceWords adds what a driver is told, and the local sizes that an artifact is ready for.
func deviceWords(words []string, r *key.Recipe, a *store.Artifact) ([]string, error) {
	if len(r.Options.Attributes) > 0 {
		return nil, fmt.Errorf("the program asked for more than options: %s", r.Options.Attributes[0].Name)
	}
	words = append(words, "--device", r.Device.Name)
	if r.Options.Absent {
		words = append(words, "--no-options")
	} else if options := r.Options.CompileString(); options != "" {
		words = append(words, "--options", options)
	}
	if a == nil {
		return words, nil
	}
	var sizes []string
	for _, v := range a.Variants {
		var s [3]int
		_, size, _ := strings.Cut(v, "/")
		if n, _ := fmt.Sscanf(size, "%d-%d-%d", &s[0], &s[1], &s[2]); n == len(s) {
			sizes = append(sizes, fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]))
		}
	}
	slices.Sort(sizes)
	for _, s := range slices.Compact(sizes) {
		words = append(words, "--local-size", s)
	}
	return words, nil
}

// quote quotes a word for a POSIX shell, where it needs it.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./+:,@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
