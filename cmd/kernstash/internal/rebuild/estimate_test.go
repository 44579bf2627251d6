package rebuild

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/worker"
)

// TestEstimateSaysEachOnce: of two programs that are built at once, the one that takes longer is not said again when the
// other ends, and counts once.
func TestEstimateSaysEachOnce(t *testing.T) {
	t.Parallel()
	e := estimate{
		cold:  map[string]worker.Cold{"a": {}, "b": {}, "c": {}},
		begun: make(map[string]int), ended: make(map[string]bool), since: time.Now(),
	}
	var got []string
	for _, building := range []string{"a.rebuild", "b.rebuild", "a.rebuild", "c.rebuild", "a.rebuild", ""} {
		if text := e.say(worker.Status{Building: building}); text != "" {
			number, _, _ := strings.Cut(text, ":")
			got = append(got, number)
		}
	}
	if diff := cmp.Diff([]string{"1 of 3", "2 of 3", "3 of 3"}, got); diff != "" {
		t.Error(diff)
	}
}
