package reason

import (
	"strings"
	"testing"
)

// Reports and JSON hold the names, people read the words.
func TestEveryReasonIsNamed(t *testing.T) {
	t.Parallel()
	seen := make(map[string]Reason)
	for r := MissAbsent; int(r) < len(texts); r++ {
		name := r.String()
		if before, twice := seen[name]; twice || name == "" || r.Words() == "" {
			t.Errorf("reason %d is called %q, as is %d; %q", r, name, before, r.Words())
		}
		seen[name] = r
		if (r.Short() != "") != strings.HasPrefix(name, "not-cacheable.") {
			t.Errorf("%v in short is %q", r, r.Short())
		}
	}
	if len(seen) != int(PassedPanic) || Reason(0).String() != "" {
		t.Errorf("%d reasons of %d, none is called %q", len(seen), PassedPanic, Reason(0))
	}
}
