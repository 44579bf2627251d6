package drivers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/drivers"
)

func TestObeyed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "Options.txt")
	always := drivers.Rules{SwitchOn: "KEYS", Files: []drivers.File{{Path: path}}, Reads: []string{"OVERRIDE"}}
	switched := drivers.Rules{SwitchOn: "KEYS", Files: []drivers.File{{Path: path, SwitchedOn: true}}}
	for _, there := range []bool{false, true} {
		for _, c := range []struct {
			name    string
			rules   drivers.Rules
			environ []string
			want    string // where the file is there
			without string
		}{
			{"always", always, nil, path, ""},
			{"switched off", switched, []string{"KEYS=0"}, "", ""},
			{"not switched", switched, nil, "", ""},
			{"switched on", switched, []string{"KEYS=1"}, path, ""},
			{"a variable", always, []string{"OVERRIDE=1"}, path, "OVERRIDE"},
			{"a variable that is 0", always, []string{"OVERRIDE=0"}, path, ""},
		} {
			want := c.without
			if there {
				want = c.want
			}
			if got := c.rules.Obeyed(c.environ); got != want {
				t.Errorf("%s, file there %v: %q, want %q", c.name, there, got, want)
			}
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
