package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRelease: the command, the C library and the packages have one version.
func TestRelease(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "capi", "kernstash.h"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "KERNSTASH_VERSION_TEXT \"" + release + "\""; !strings.Contains(string(b), want) {
		t.Errorf("kernstash.h has no %s", want)
	}
}

func TestVersionText(t *testing.T) {
	t.Parallel()
	v := versionReport{Version: "1.2.3", Revision: "abc-dirty", Go: "go1.26", Platform: "linux/amd64", Schema: 4, Format: 4}
	want := "kernstash 1.2.3, commit abc-dirty, key schema 4, entry format 4, without runtimes (nogpu), go1.26, linux/amd64"
	if got := v.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	v.Revision, v.Runtimes = "", true
	want = "kernstash 1.2.3, key schema 4, entry format 4, with runtimes, go1.26, linux/amd64"
	if got := v.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
