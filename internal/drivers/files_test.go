package drivers_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/drivers"
)

func TestObeyed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "Options.txt")
	rules := drivers.Rules{Files: []string{path}, Reads: []string{"OVERRIDE"}}
	for _, there := range []bool{false, true} {
		for _, c := range []struct {
			name    string
			environ []string
			want    string // where the file is there
			without string
		}{
			{"a file", nil, path, ""},
			{"a variable", []string{"OVERRIDE=1"}, path, "OVERRIDE"},
			{"a variable that is 0", []string{"OVERRIDE=0"}, path, ""},
		} {
			want := c.without
			if there {
				want = c.want
			}
			err := rules.Obeyed(c.environ)
			if (err != nil) != (want != "") || err != nil && (!errors.Is(err, drivers.ErrSettings) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, file there %v: %v, want %q", c.name, there, err, want)
			}
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
