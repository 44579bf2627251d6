package layer

import (
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/settings"
)

// A process that loads and unloads libraries again and again is served for each, and not all
// of them are remembered.
func TestLibraryContextsAreBounded(t *testing.T) {
	t.Parallel()
	l, err := Open(inprocess.Options{Settings: settings.Inputs{Program: map[string]string{"dir": filepath.Join(t.TempDir(), "cache")}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 2*maxContexts + 2 {
		r := &Request{API: rtc.NVRTC, Compile: uintptr(i + 1), Major: 13}
		p, err := l.libraryContext(r)
		if again, _ := l.libraryContext(r); err != nil || again != p || len(l.contexts) > maxContexts {
			t.Fatalf("library %d: %v; %d are remembered, it is: %v", i, err, len(l.contexts), again == p)
		}
	}
}
