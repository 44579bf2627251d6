package trust_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/trust"
)

// TestKeysAreOfOpenSSL: openssl reads our keys, and we read its.
func TestKeysAreOfOpenSSL(t *testing.T) {
	t.Parallel()
	openssl := needs.Tool(t, "openssl", "openssl")
	dir := t.TempDir()
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(openssl, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("genpkey", "-algorithm", "ed25519", "-out", "theirs.pem")
	b, err := os.ReadFile(filepath.Join(dir, "theirs.pem"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := trust.ParsePrivate(b)
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := trust.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ours.pem"), private, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run("pkey", "-in", "ours.pem", "-pubout"); !bytes.Equal(got, public) {
		t.Errorf("the public key is\n%s, of openssl\n%s", public, got)
	}
	all, err := trust.ParsePublic(append(public, public...))
	if err != nil || len(all) != 2 || !all[0].Equal(k.Public()) {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range []string{"", "x", string(private), string(public[:60])} {
		if _, err := trust.ParsePublic([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}
