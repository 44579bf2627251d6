//go:build linux

package intel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// NEO reads its settings when it is loaded, from the directory that the process works in then,
// which need not be the one that it builds in.
func TestIntelSettingsFileElsewhere(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	b := newBuilder(t)
	source := b.source(t, oneLine(78))
	plain, with, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	settings := "SetCommandStreamReceiver = 1\nProductFamilyOverride = tgllp\nDisableStatelessToStatefulOptimization = 1\n"
	if err := os.WriteFile(filepath.Join(with, "igdrcl.config"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(start, loads, builds string, environ []string) made {
		t.Helper()
		return b.processIn(t, start, append([]string{"HITS_LOADS_IN=" + loads, "HITS_BUILDS_IN=" + builds}, environ...), source, "NULL", "1")
	}
	right, other := in(plain, plain, plain, nil), in(plain, with, plain, nil)
	if right.sum == other.sum {
		t.Fatal("the driver does not read the file")
	}
	layer := b.layer[1:len(b.layer):len(b.layer)]
	for _, c := range []struct {
		frontEnd string
		environ  []string
	}{
		{"layer", append(layer, b.layer[0])},
		{"preload", append(layer, stage.Preloaded(t, "preload")...)},
	} {
		t.Run(c.frontEnd, func(t *testing.T) {
			if c.frontEnd == "preload" {
				timing.Long(t)
				stage.Interposers(t)
			}
			environ := append(c.environ[:len(c.environ):len(c.environ)], "KERNSTASH_DIR="+filepath.Join(t.TempDir(), "cache"))
			in(plain, with, plain, environ).expect(t, "loaded where the file is", "compiled", other.sum)
			in(plain, plain, plain, environ).expect(t, "without", "compiled", right.sum)
			in(with, with, plain, environ).expect(t, "started where the file is", "compiled", other.sum)
			// Where keys are read nobody knows which files a driver saw that was loaded elsewhere.
			in(plain, plain, elsewhere, environ).expect(t, "built elsewhere", "compiled", right.sum)
		})
	}
}
