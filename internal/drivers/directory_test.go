package drivers_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/drivers"
)

// Where a driver read its settings is not where the process works by now.
func TestDirectory(t *testing.T) {
	const keys = "NEOReadDebugKeys=1"
	with, plain, other := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(with, "settings"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		loads, builds  string
		there, moved   bool // what others saw
		without, under bool // whether there may be settings: without keys, and with them
	}{
		{"none", plain, plain, false, false, false, false},
		{"where it builds", plain, with, false, false, true, true},
		{"where it was loaded", with, plain, false, false, true, true},
		{"elsewhere, maybe", plain, other, false, false, false, true},
		{"others saw one", plain, plain, true, false, true, true},
		{"others were elsewhere", plain, plain, false, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drivers.NewDirectory("settings")
			rules := drivers.Rules{SwitchOn: "NEOReadDebugKeys", AtLoad: d}
			t.Chdir(c.loads)
			d.Loads()
			d.Saw(c.there, c.moved)
			t.Chdir(c.builds)
			for _, now := range []struct {
				environ []string
				want    bool
			}{{nil, c.without}, {[]string{keys}, c.under}} {
				err := rules.Obeyed(now.environ)
				if (err != nil) != now.want || err != nil && !errors.Is(err, drivers.ErrSettings) {
					t.Errorf("%v: %v, want an error: %v", now.environ, err, now.want)
				}
			}
			t.Chdir(c.loads) // what was seen is not forgotten
			if err := rules.Obeyed([]string{keys}); (err != nil) != c.under {
				t.Errorf("back again: %v, want an error: %v", err, c.under)
			}
		})
	}
}
