package main

import (
	"fmt"
	"os"
	"testing"
)

// TestHostKeepsItsDescriptors: builds that wait to be stored take none, however many
// they are.
func TestHostKeepsItsDescriptors(t *testing.T) {
	builds := "1500"
	if os.Getenv("KERNSTASH_TEST_LONG") != "" {
		builds = "5000"
	}
	hosts(t, func(t *testing.T, h *host) {
		var most, refused int
		var closing float64
		out := h.run("many", "TEST_BUILDS="+builds)
		if _, err := fmt.Sscanf(out, "descriptors %d refused %d close %f\n", &most, &refused, &closing); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Log(out)
		if most > 16 || refused > 0 {
			t.Errorf("%d descriptors more while it built, and %d times none was left", most, refused)
		}
	})
}
