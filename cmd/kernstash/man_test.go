package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/manual"
	"github.com/kernstash/kernstash/internal/needs"
)

// TestManualPages: groff has nothing to say against any page.
func TestManualPages(t *testing.T) {
	t.Parallel()
	groff := needs.Tool(t, "groff", "groff-base")
	dir := t.TempDir()
	if err := manual.Write(rootCommand(&cli.App{}), dir, time.Now(), manualSections()); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	out, err := exec.Command(groff, append([]string{"-man", "-ww", "-z", "-Tutf8", "-Kutf8"}, pages...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
