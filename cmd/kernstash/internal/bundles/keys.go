package bundles

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"slices"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/trust"
)

// generated is what `keygen --json` writes.
type generated struct {
	Private     string `json:"private"`
	Public      string `json:"public"`
	Fingerprint string `json:"fingerprint"`
}

// Keygen makes a key: NAME.pem is private, NAME.pub.pem public. It replaces neither.
func Keygen(a *cli.App, name string) error {
	private, err := trust.Generate()
	if err != nil {
		return fmt.Errorf("keygen: %w", err)
	}
	own, others, err := trust.Marshal(private)
	if err != nil {
		return fmt.Errorf("keygen: %w", err)
	}
	r := generated{name + ".pem", name + ".pub.pem", trust.Fingerprint(private.Public().(ed25519.PublicKey))}
	if err := create(r.Private, own, 0o600); err != nil {
		return err
	}
	if err := create(r.Public, others, 0o644); err != nil {
		_ = os.Remove(r.Private)
		return err
	}
	return a.Report(r, true, func() {
		a.Printf("wrote %s, which signs, and %s, which checks: %s\n", human.Printable(r.Private, false), human.Printable(r.Public, false), r.Fingerprint)
	})
}

func create(name string, b []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("keygen: %w", err)
	}
	_, err = f.Write(b)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("keygen: %w", err)
	}
	return nil
}

func privateKey(name string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--sign: %w", err)
	}
	k, err := trust.ParsePrivate(b)
	if err != nil {
		return nil, fmt.Errorf("--sign %s: %w", name, err)
	}
	return k, nil
}

// Trusted returns the keys one of which must have signed a bundle: those in the files, or, where there is no
// file, those of the user's list; none where there is no list either. No revoked key is among them.
func Trusted(s *settings.Settings, files []string) ([]ed25519.PublicKey, error) {
	list := trust.Open(s.Trust, s.TrustNamed())
	if err := list.Err(); err != nil {
		return nil, err
	}
	if !list.IsSet() {
		return publicKeys(files)
	}
	all := list.Keys()
	if len(files) > 0 {
		var err error
		if all, err = publicKeys(files); err != nil {
			return nil, err
		}
		revoked := make(map[string]bool)
		for _, e := range list.Entries() {
			revoked[e.Fingerprint] = e.Revoked
		}
		all = slices.DeleteFunc(all, func(k ed25519.PublicKey) bool { return revoked[trust.Fingerprint(k)] })
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: every key is revoked, see 'kernstash trust list'", trust.ErrUntrusted)
	}
	return all, nil
}

// publicKeys reads the keys of all files.
func publicKeys(files []string) (all []ed25519.PublicKey, err error) {
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--trust: %w", err)
		}
		keys, err := trust.ParsePublic(b)
		if err != nil {
			return nil, fmt.Errorf("--trust %s: %w", file, err)
		}
		all = append(all, keys...)
	}
	return all, nil
}
