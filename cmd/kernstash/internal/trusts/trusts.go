// Package trusts is `kernstash trust`: it changes and shows the list of keys whose signatures count.
package trusts

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/trust"
)

// list is what `trust list --json` writes.
type list struct {
	Dir   string  `json:"dir"`
	Asked bool    `json:"asked"` // signatures are asked for
	Error string  `json:"error,omitempty"`
	Keys  []entry `json:"keys"`
}

// entry is a key of it.
type entry struct {
	Fingerprint string `json:"fingerprint"`
	State       string `json:"state"`          // trusted, revoked
	File        string `json:"file,omitempty"` // in the directory
}

// change is what `trust add --json` and `trust revoke --json` write.
type change struct {
	Dir  string    `json:"dir"`
	Keys []changed `json:"keys"`
}

type changed struct {
	Fingerprint string `json:"fingerprint"`
	Existing    bool   `json:"existing"` // nothing changed
}

func directory(s *settings.Settings) (string, error) {
	if s.Trust == "" {
		return "", errors.New("trust: there is no directory for the list: KERNSTASH_TRUST names one")
	}
	return s.Trust, nil
}

// Add adds the keys in the files to the list. All files are read before anything changes.
func Add(a *cli.App, files []string) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	dir, err := directory(s)
	if err != nil {
		return err
	}
	var all []ed25519.PublicKey
	for _, file := range files {
		keys, err := keysIn(file)
		if err != nil {
			return fmt.Errorf("trust add: %w", err)
		}
		all = append(all, keys...)
	}
	rep := change{Dir: dir}
	for _, k := range all {
		added, err := trust.Add(dir, k)
		if err != nil {
			return fmt.Errorf("trust add: %w", err)
		}
		rep.Keys = append(rep.Keys, changed{trust.Fingerprint(k), !added})
	}
	return report(a, rep, "trusted", "trusted already")
}

// Revoke revokes keys, which fingerprints or files name.
func Revoke(a *cli.App, words []string) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	dir, err := directory(s)
	if err != nil {
		return err
	}
	all, err := Fingerprints("trust revoke", words)
	if err != nil {
		return err
	}
	rep := change{Dir: dir}
	for _, f := range all {
		revoked, err := trust.Revoke(dir, f)
		if err != nil {
			return fmt.Errorf("trust revoke: %w", err)
		}
		rep.Keys = append(rep.Keys, changed{f, !revoked})
	}
	if err := report(a, rep, "revoked", "revoked already"); err != nil || a.JSON {
		return err
	}
	a.Printf("agents obey within ten seconds; what was pulled into a cache without one stays until: kernstash clear")
	for _, f := range all {
		a.Printf(" --signed-by %s", f)
	}
	a.Printf("\n")
	return nil
}

// Fingerprints returns those of the keys that fingerprints or files with public keys name. what begins errors.
func Fingerprints(what string, words []string) (all []string, err error) {
	for _, w := range words {
		if strings.HasPrefix(w, "SHA256:") {
			if _, err := trust.ParseFingerprint(w); err != nil {
				return nil, cli.Usagef("%s: %w", what, err)
			}
			all = append(all, w)
			continue
		}
		keys, err := keysIn(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		for _, k := range keys {
			all = append(all, trust.Fingerprint(k))
		}
	}
	return all, nil
}

func keysIn(file string) ([]ed25519.PublicKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	keys, err := trust.ParsePublic(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return keys, nil
}

func report(a *cli.App, rep change, did, had string) error {
	return a.Report(rep, true, func() {
		for _, k := range rep.Keys {
			verb := did
			if k.Existing {
				verb = had
			}
			a.Printf("%s: %s\n", k.Fingerprint, verb)
		}
	})
}

// List shows the list.
func List(a *cli.App) error {
	s, err := a.Settings()
	if err != nil {
		return err
	}
	l := trust.Open(s.Trust, s.TrustNamed())
	rep := list{Dir: s.Trust, Asked: l.IsSet(), Keys: []entry{}}
	if err := l.Err(); err != nil {
		rep.Error = err.Error()
	}
	for _, e := range l.Entries() {
		state := "trusted"
		if e.Revoked {
			state = "revoked"
		}
		rep.Keys = append(rep.Keys, entry{e.Fingerprint, state, e.File})
	}
	return a.Report(rep, rep.Error == "", func() {
		switch {
		case rep.Error != "":
			fmt.Fprintf(a.Err, "kernstash: nothing is trusted: %s\n", human.Printable(rep.Error, false))
		case !rep.Asked:
			a.Printf("no key in %s: signatures are not asked for\n", human.Printable(s.Trust, false))
		default:
			var rows [][]string
			for _, e := range rep.Keys {
				rows = append(rows, []string{e.Fingerprint, e.State, human.Printable(e.File, false)})
			}
			_ = a.Terminal().WriteTable(a.Out, []string{"KEY", "STATE", "FILE"}, rows)
		}
	})
}

// Completions returns the fingerprints of the keys that can be revoked.
func Completions(a *cli.App) (all []string) {
	s, err := a.Settings()
	if err != nil {
		return nil
	}
	for _, e := range trust.Open(s.Trust, false).Entries() {
		if !e.Revoked {
			all = append(all, e.Fingerprint)
		}
	}
	return all
}
