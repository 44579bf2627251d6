package trust

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// keys returns public keys.
func keys(t *testing.T, n int) (all []ed25519.PublicKey) {
	t.Helper()
	for range n {
		k, err := Generate()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k.Public().(ed25519.PublicKey))
	}
	return all
}

func pemOf(t *testing.T, all ...ed25519.PublicKey) (text string) {
	t.Helper()
	for _, k := range all {
		b, err := MarshalPublic(k)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return text
}

func write1(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// state of a list for two keys: "none" is no list, else for each key whether it is trusted.
func stateOf(l *List, a, b ed25519.PublicKey) string {
	if !l.IsSet() {
		return "none"
	}
	return fmt.Sprint(l.Check(a) == nil, " ", l.Check(b) == nil)
}

// TestList: what a directory says of two keys.
func TestList(t *testing.T) {
	t.Parallel()
	two := keys(t, 2)
	a, b := two[0], two[1]
	private, _, err := Marshal(ed25519.NewKeyFromSeed(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string // for a directory that nobody named
		err   string // in the error, where there is one
	}{
		"nothing":                  {nil, "none", ""},
		"one key":                  {map[string]string{"a.pem": pemOf(t, a)}, "true false", ""},
		"two files":                {map[string]string{"a.pem": pemOf(t, a), "b.pem": pemOf(t, b)}, "true true", ""},
		"two keys in a file":       {map[string]string{"all.pem": pemOf(t, a, b)}, "true true", ""},
		"one key twice":            {map[string]string{"a.pem": pemOf(t, a, a), "b.pem": pemOf(t, a)}, "true false", ""},
		"one revoked":              {map[string]string{"all.pem": pemOf(t, a, b), "revoked": Fingerprint(b) + "\n"}, "true false", ""},
		"revoked, with remarks":    {map[string]string{"all.pem": pemOf(t, a, b), "revoked": "# lost\n\n  " + Fingerprint(a) + " # in March\r\n"}, "false true", ""},
		"all revoked":              {map[string]string{"all.pem": pemOf(t, a, b), "revoked": Fingerprint(a) + "\n" + Fingerprint(b)}, "false false", ""},
		"no key, one revoked":      {map[string]string{"revoked": Fingerprint(a)}, "false false", ""},
		"nobody revoked":           {map[string]string{"a.pem": pemOf(t, a), "revoked": "# nobody\n"}, "true false", ""},
		"hidden":                   {map[string]string{".a.pem": pemOf(t, a), "..data": "x"}, "none", ""},
		"hidden beside a key":      {map[string]string{"a.pem": pemOf(t, a), ".b.pem": pemOf(t, b)}, "true false", ""},
		"an ending that is not":    {map[string]string{"a.pem": pemOf(t, a), "b.pub": pemOf(t, b)}, "false false", `b.pub: want names that end in .pem, and "revoked"`},
		"revoked.txt":              {map[string]string{"a.pem": pemOf(t, a), "revoked.txt": Fingerprint(a)}, "false false", "revoked.txt: want"},
		"no PEM":                   {map[string]string{"a.pem": pemOf(t, a), "b.pem": "x"}, "false false", "b.pem: no PUBLIC KEY in PEM"},
		"an empty file":            {map[string]string{"a.pem": ""}, "false false", "a.pem: no PUBLIC KEY in PEM"},
		"a private key":            {map[string]string{"a.pem": string(private)}, "false false", "a.pem: PRIVATE KEY in PEM, not PUBLIC KEY"},
		"no fingerprint":           {map[string]string{"a.pem": pemOf(t, a), "revoked": "SHA256:x"}, "false false", `"SHA256:x" is no fingerprint`},
		"a fingerprint of ssh-rsa": {map[string]string{"a.pem": pemOf(t, a), "revoked": "MD5:" + strings.Repeat("ab:", 16)}, "false false", "is no fingerprint"},
		"too much":                 {map[string]string{"a.pem": pemOf(t, a) + strings.Repeat("\n", 1<<20)}, "false false", "a.pem: over 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, content := range tt.files {
				write1(t, dir, name, content)
			}
			l := Open(dir, false)
			if got := stateOf(l, a, b); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if err := l.Err(); (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if err := l.Check(b); err != nil && (!errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%v does not say that it is untrusted, and why", err)
			}
			if n := len(l.Entries()); tt.err != "" && n > 0 {
				t.Errorf("%d keys of a list that cannot be read", n)
			}
			// Whoever names the directory wants a list.
			want := strings.ReplaceAll(tt.want, "none", "false false")
			if got := stateOf(Open(dir, true), a, b); got != want {
				t.Errorf("named: %s, want %s", got, want)
			}
		})
	}
}

// TestNoList: where there is no directory there is no list, unless somebody has named it.
func TestNoList(t *testing.T) {
	t.Parallel()
	k := keys(t, 2)
	none := filepath.Join(t.TempDir(), "none")
	for name, l := range map[string]*List{"nil": nil, "no directory": Open("", true), "absent": Open(none, false), "no key": Of()} {
		if l.IsSet() || l.Err() != nil || len(l.Keys()) > 0 || len(l.Entries()) > 0 {
			t.Errorf("%s: is set %v, %v", name, l.IsSet(), l.Err())
		}
		if l.Check(k[0]) == nil {
			t.Errorf("%s: a key is trusted", name)
		}
	}
	l := Open(none, true)
	if got := stateOf(l, k[0], k[1]); got != "false false" || l.Err() == nil {
		t.Errorf("named and absent: %s, %v", got, l.Err())
	}
	if got := stateOf(Of(k[0]), k[0], k[1]); got != "true false" {
		t.Errorf("a list of one key: %s", got)
	}
}

// TestListIsReadAgain: what changes counts after some seconds, also a list that is spoilt, and one that
// is there at last.
func TestListIsReadAgain(t *testing.T) {
	t.Parallel()
	k := keys(t, 2)
	dir := filepath.Join(t.TempDir(), "trust")
	now := time.Unix(1e9, 0)
	l := Open(dir, false)
	l.now = func() time.Time { return now }
	l.lookup.Store(load(dir, now))
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, "none"},
		{func() error { _, err := Add(dir, k[0]); return err }, "true false"},
		{func() error { _, err := Add(dir, k[1]); return err }, "true true"},
		{func() error { _, err := Revoke(dir, Fingerprint(k[0])); return err }, "false true"},
		{func() error { return os.Mkdir(filepath.Join(dir, "x.pem"), 0o700) }, "false false"},
		{func() error { return os.Remove(filepath.Join(dir, "x.pem")) }, "false true"},
	} {
		before := stateOf(l, k[0], k[1])
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(reloadEvery - time.Nanosecond)
		if got := stateOf(l, k[0], k[1]); got != before {
			t.Errorf("step %d: %s at once", i, got)
		}
		now = now.Add(time.Nanosecond)
		if got := stateOf(l, k[0], k[1]); got != step.want {
			t.Errorf("step %d: %s, want %s (%v)", i, got, step.want, l.Err())
		}
	}
	now = now.Add(-time.Hour) // a clock that is set back
	if _, err := Revoke(dir, Fingerprint(k[1])); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(l, k[0], k[1]); got != "false false" {
		t.Errorf("after the clock was set back: %s", got)
	}
}

// TestAddAndRevoke: what they write is a list, and they say whether they wrote.
func TestAddAndRevoke(t *testing.T) {
	t.Parallel()
	k := keys(t, 3)
	dir := filepath.Join(t.TempDir(), "config", "trust")
	for i, want := range []bool{true, false} {
		if added, err := Add(dir, k[0]); added != want || err != nil {
			t.Errorf("add, time %d: %v, %v", i, added, err)
		}
		if revoked, err := Revoke(dir, Fingerprint(k[1])); revoked != want || err != nil {
			t.Errorf("revoke, time %d: %v, %v", i, revoked, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "revoked"), []byte("# ours\n"+Fingerprint(k[1])), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Revoke(dir, Fingerprint(k[2])); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "revoked")); err != nil || string(b) != "# ours\n"+Fingerprint(k[1])+"\n"+Fingerprint(k[2])+"\n" {
		t.Errorf("%q, %v", b, err)
	}
	if added, err := Add(dir, k[1]); added || err == nil || !strings.Contains(err.Error(), "is revoked") {
		t.Errorf("a revoked key is added: %v, %v", added, err)
	}
	if _, err := Revoke(dir, "nobody"); err == nil {
		t.Error("nobody is revoked")
	}
	l := Open(dir, false)
	if n := len(l.Keys()); n != 1 || !l.Keys()[0].Equal(k[0]) {
		t.Errorf("%d keys", n)
	}
	revoked := 0
	for _, e := range l.Entries() {
		if e.Revoked {
			revoked++
		} else if e.File == "" || e.Fingerprint != Fingerprint(k[0]) {
			t.Errorf("%+v", e)
		}
	}
	if revoked != 2 {
		t.Errorf("%d are revoked", revoked)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&^0o755 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	write1(t, dir, "README", "x")
	if _, err := Add(dir, k[2]); err == nil {
		t.Error("added to what cannot be read")
	}
	if _, err := Revoke(dir, Fingerprint(k[0])); err == nil {
		t.Error("revoked in what cannot be read")
	}
}

// TestListOfManyReaders: it is asked while it is read anew.
func TestListOfManyReaders(t *testing.T) {
	t.Parallel()
	k := keys(t, 2)
	dir := t.TempDir()
	write1(t, dir, "a.pem", pemOf(t, k[0]))
	l := Open(dir, false)
	var ticks sync.Mutex
	now := time.Now()
	l.now = func() time.Time {
		ticks.Lock()
		defer ticks.Unlock()
		now = now.Add(reloadEvery / 4)
		return now
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if !l.IsSet() || l.Check(k[0]) != nil || l.Check(k[1]) == nil || len(l.Keys()) != 1 {
					t.Error("it says something else")
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	// printf '\0%.0s' $(seq 32) | sha256sum | xxd -r -p | base64
	const zeros = "SHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU"
	if got := Fingerprint(make([]byte, 32)); got != zeros {
		t.Errorf("%s, want %s", got, zeros)
	}
	sum, err := ParseFingerprint(zeros)
	if err != nil || fingerprint(sum) != zeros {
		t.Errorf("%x, %v", sum, err)
	}
	for _, bad := range []string{"", "SHA256:", zeros[7:], "sha256" + zeros[6:], zeros + "=", zeros[:49], zeros + "A", "SHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSV", zeros + "\n"} {
		if _, err := ParseFingerprint(bad); err == nil {
			t.Errorf("%q is taken for a fingerprint", bad)
		}
	}
}

// FuzzList: no file makes anything but a list or an error.
func FuzzList(f *testing.F) {
	f.Add([]byte("# x\nSHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU\n"))
	b, err := MarshalPublic(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &state{revoked: make(map[id]bool)}
		if s.revoke(b) == nil {
			for by := range s.revoked {
				if !strings.Contains(string(b), fingerprint(by)) {
					t.Error("revoked who is not named")
				}
			}
		}
		if all, err := ParsePublic(b); err == nil {
			for _, k := range all {
				if len(k) != ed25519.PublicKeySize {
					t.Errorf("a key of %d bytes", len(k))
				}
			}
		}
	})
}
