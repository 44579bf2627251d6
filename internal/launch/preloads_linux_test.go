package launch

import (
	"os"
	"testing"

	"github.com/kernstash/kernstash/internal/ldso"
)

// A program with an address sanitizer ends at once where anything is preloaded.
func TestPreloads(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		needed []string
		want   bool
	}{
		{[]string{"libc.so.6"}, true},
		{[]string{"libasan.so.8", "libc.so.6"}, false},
		{[]string{"libm.so.6", "libclang_rt.asan-x86_64.so"}, false},
	} {
		p, err := ldso.Inspect(self)
		if err != nil {
			t.Fatal(err)
		}
		own := *p
		own.Needed = c.needed
		if got := (Target{Program: &own}).Preloads(); got != c.want {
			t.Errorf("%q: %v", c.needed, got)
		}
	}
}
