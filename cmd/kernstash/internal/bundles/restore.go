package bundles

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
)

// Copy is what a bundle was restored as, and what `bundle restore --json` writes.
type Copy struct {
	Bundle    string            `json:"bundle"`
	Dir       string            `json:"dir"`
	Existing  bool              `json:"existing"` // it was there
	Entries   int               `json:"entries"`
	Caches    []bundle.Harvest  `json:"harvested,omitempty"`
	Used      []bundle.Usage    `json:"used,omitempty"` // of an existing one: by programs until now
	Variables []bundle.Variable `json:"variables"`

	reader *bundle.Reader // which is closed
}

// Restored makes a private directory of a bundle, in dir or, where that is empty, below the user's directory for
// caches, and returns what has programs use it: as a layer in front of those of the settings, and its caches of other tools.
// Unless trusted is empty, one of these keys must have signed the bundle.
func Restored(ctx context.Context, name, dir string, trusted []ed25519.PublicKey, layers []string) (*Copy, error) {
	r, closed, err := Open(name, trusted)
	if err != nil {
		return nil, err
	}
	defer closed()
	if dir == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("restore bundle: where to? %w; --to says it", err)
		}
		caches = filepath.Join(caches, "kernstash-restored")
		if err := os.MkdirAll(caches, 0o700); err != nil {
			return nil, fmt.Errorf("restore bundle: %w", err)
		}
		sweep(caches)
		dir = filepath.Join(caches, r.ID())
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("restore bundle: %w", err)
	}
	if strings.ContainsRune(dir, filepath.ListSeparator) {
		return nil, fmt.Errorf("restore bundle: KERNSTASH_LAYERS takes no path with %q: %s", filepath.ListSeparator, dir)
	}
	rep := &Copy{Bundle: name, Dir: dir, Entries: len(r.Entries), Caches: r.Harvests, Variables: []bundle.Variable{}, reader: r}
	if rep.Existing, err = r.Restore(ctx, dir); errors.Is(err, bundle.ErrUntrusted) && len(trusted) == 0 {
		err = fmt.Errorf("%w: --trust names the key that has signed it, as 'kernstash trust add' does", err)
	}
	if err != nil {
		return nil, err
	}
	if rep.Entries > 0 {
		layers = append([]string{dir}, slices.DeleteFunc(slices.Clone(layers), func(l string) bool { return l == dir })...)
		rep.Variables = append(rep.Variables, bundle.Variable{Name: "KERNSTASH_LAYERS", Value: strings.Join(layers, string(filepath.ListSeparator))})
	}
	for _, h := range rep.Caches {
		rep.Variables = append(rep.Variables, h.Environ(dir)...)
	}
	return rep, nil
}

// sweep removes what restores that were killed have left.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ".*-*")) // see bundle.Reader.Extract
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && info.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(path) // the next one tries again
		}
	}
}

// Usage says what programs have done with the caches of other tools since Watch. Where that cannot be told it
// says nothing: who uses the copy does not need it.
func (c *Copy) Usage(ctx context.Context) []bundle.Usage {
	all, err := c.reader.Used(ctx, c.Dir)
	if err != nil {
		return nil
	}
	return all
}

// Watch has Usage begin to count.
func (c *Copy) Watch(ctx context.Context) { _ = c.reader.Watch(ctx, c.Dir) }

// UsageText says it in words: "triton: 3 of 40 files read, 1 new".
func UsageText(u bundle.Usage) string {
	text := u.Name + ": "
	switch {
	case u.Read == nil:
		text += "the file system does not tell whether it was used"
	case *u.Read == 0:
		text += fmt.Sprintf("inert, none of %s was read", human.Plural(u.Files, "file"))
	default:
		text += fmt.Sprintf("%d of %s read", *u.Read, human.Plural(u.Files, "file"))
	}
	if u.Written > 0 {
		text += fmt.Sprintf(", %d written anew", u.Written)
	}
	if u.New > 0 {
		text += fmt.Sprintf(", %d new", u.New)
	}
	return text
}

// Unset returns the variables of a copy but for those of caches about which an environment says something.
func (c *Copy) Unset(isSet func(name string) bool) []bundle.Variable {
	return slices.DeleteFunc(slices.Clone(c.Variables), func(v bundle.Variable) bool {
		return slices.ContainsFunc(c.Caches, func(h bundle.Harvest) bool {
			of := func(other bundle.Variable) bool { return other.Name == v.Name }
			return slices.ContainsFunc(h.Variables, of) && slices.ContainsFunc(h.Variables, func(v bundle.Variable) bool { return isSet(v.Name) })
		})
	})
}

// Restore does that, and writes the variables, as line does it.
func Restore(ctx context.Context, a *cli.App, name, dir string, trust []string, line func(name, value string) string) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	trusted, err := Trusted(s, trust)
	if err != nil {
		return err
	}
	rep, err := Restored(ctx, name, dir, trusted, s.Layers)
	if err != nil {
		return err
	}
	if rep.Existing {
		rep.Used = rep.Usage(ctx)
	}
	rep.Watch(ctx)
	return a.Report(rep, true, func() {
		verb := "restored"
		if rep.Existing {
			verb = "was there:"
		}
		texts := []string{human.Plural(rep.Entries, "entry")}
		for _, h := range rep.Caches {
			texts = append(texts, fmt.Sprintf("%s (%s, %s)", h.Name, human.Plural(h.Files, "file"), human.Size(h.Bytes)))
		}
		fmt.Fprintf(a.Err, "kernstash: %s %s, in %s\n", verb, strings.Join(texts, ", "), human.Printable(rep.Dir, false))
		for _, u := range rep.Used {
			fmt.Fprintf(a.Err, "kernstash: until now: %s\n", human.Printable(UsageText(u), false))
		}
		for _, v := range rep.Variables {
			a.Printf("%s\n", line(v.Name, v.Value))
		}
	})
}
