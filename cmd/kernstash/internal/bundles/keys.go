package bundles

import (
	"crypto/ed25519"
	"fmt"
	"os"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
)

// generated is what `keygen --json` writes.
type generated struct {
	Private     string `json:"private"`
	Public      string `json:"public"`
	Fingerprint string `json:"fingerprint"`
}

// Keygen makes a key: NAME.pem is private, NAME.pub.pem public. It replaces neither.
func Keygen(a *cli.App, name string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("keygen: %w", err)
	}
	own, others, err := bundle.MarshalKey(private)
	if err != nil {
		return fmt.Errorf("keygen: %w", err)
	}
	r := generated{name + ".pem", name + ".pub.pem", bundle.Fingerprint(public)}
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
	k, err := bundle.ParsePrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("--sign %s: %w", name, err)
	}
	return k, nil
}

// publicKeys reads the keys of all files.
func publicKeys(files []string) (all []ed25519.PublicKey, err error) {
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--trust: %w", err)
		}
		keys, err := bundle.ParsePublicKeys(b)
		if err != nil {
			return nil, fmt.Errorf("--trust %s: %w", file, err)
		}
		all = append(all, keys...)
	}
	return all, nil
}
