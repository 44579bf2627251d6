package cache

import (
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
)

// TestAppsOff: a program that the setting apps-off names has no cache, be it named by its file or by itself.
func TestAppsOff(t *testing.T) {
	t.Parallel()
	self := records.Application()
	for _, c := range []struct {
		name, off, app string
		want           bool
	}{
		{"another", "another,other", "", false},
		{"this", "another, " + self, "", true},
		{"this under another name", self, "solver", false},
		{"by its own name", "solver", "solver", true},
		{"part of a name", "solve", "solver", false},
	} {
		dir := filepath.Join(t.TempDir(), "root")
		got, err := Open(Options{Settings: settings.Inputs{Environ: []string{"KERNSTASH_DIR=" + dir, "KERNSTASH_APPS_OFF=" + c.off}}, App: c.app})
		if err != nil {
			t.Fatal(err)
		}
		if off := got.Settings().Disable; off != c.want || off != (got.Store() == nil) {
			t.Errorf("%s: off: %v, want %v; store %v", c.name, off, c.want, got.Store())
		}
		got.Close()
	}
}
