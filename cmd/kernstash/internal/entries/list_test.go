package entries

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/store"
)

// TestReportedEntry: moments are in UTC wherever we are, and kernels an array.
func TestReportedEntry(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("far", 5*3600))
	var out bytes.Buffer
	if err := terminal.EncodeJSON(&out, ReportEntry(store.Info{Created: at, Accessed: at}), ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"created":"2026-01-01T22:04:05Z"`, `"accessed":"2026-01-01T22:04:05Z"`, `"kernels":[]`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}
