//go:build linux

package compile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/runlog"
)

// TestQuestions: what only asks a compiler about itself is no request, which a run would tell of.
func TestQuestions(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	t.Setenv(runlog.Variable, report)
	for _, tt := range []struct {
		args []string
		told bool
	}{
		{[]string{"ptxas", "--version"}, false},
		{[]string{"nvcc", "-V"}, false},
		{[]string{"nvcc", "--help"}, false},
		{[]string{"ptxas"}, true},
		{[]string{"ptxas", "--version", "a.ptx"}, true},
	} {
		if err := os.WriteFile(report, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, served := serve(kernstash.Options{Lenient: true}, "/bin/true", tt.args); served {
			t.Errorf("%q was served", tt.args)
		}
		info, err := os.Stat(report)
		if err != nil {
			t.Fatal(err)
		}
		if told := info.Size() > 0; told != tt.told {
			t.Errorf("%q: told %v", tt.args, told)
		}
	}
}
