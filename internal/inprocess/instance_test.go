package inprocess

import (
	"errors"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/settings"
)

// A process without a directory for the cache is told from one whose cache is off, and hears what to set.
func TestWhyItStaysOut(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]settings.Inputs{
		"no directory: set KERNSTASH_DIR, or HOME": {Environ: []string{"PATH=/bin"}},
		"it is switched off":                       {Environ: []string{"KERNSTASH_DIR=" + t.TempDir(), "KERNSTASH_PERSISTENT=0"}},
	} {
		in.Lenient = true
		if _, err := Open(Options{Settings: in}, "test"); !errors.Is(err, ErrOut) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
