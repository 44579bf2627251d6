package needs_test

import (
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// A recorder is a test that notes how it ends first.
type recorder struct {
	testing.TB
	ends []string
}

func (*recorder) Helper()        {}
func (r *recorder) Skip(...any)  { r.ends = append(r.ends, "skipped") }
func (r *recorder) Fatal(...any) { r.ends = append(r.ends, "failed") }

func TestTool(t *testing.T) {
	for _, test := range []struct{ ci, tool, want string }{
		{"", "go", ""},
		{"true", "go", ""},
		{"", "kernstash-no-such-program", "skipped"},
		{"true", "kernstash-no-such-program", "failed"},
	} {
		t.Setenv("CI", test.ci)
		r := &recorder{TB: t}
		needs.Tool(r, test.tool, "golang")
		if got := append(r.ends, "")[0]; got != test.want {
			t.Errorf("CI=%q, %s: %q, want %q", test.ci, test.tool, got, test.want)
		}
	}
}
