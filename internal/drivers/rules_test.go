package drivers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

func TestIntelVariables(t *testing.T) {
	t.Parallel()
	off := []string{"IGC_ForceOCLSIMDWidth=8", "ProductFamilyOverride=tgllp", "NEO_CACHE_DIR=/c", "NEO_L0_CACHE_DIR=/c", "HOME=/h"}
	for _, c := range []struct {
		name    string
		environ []string
		want    []key.Pair
	}{
		{"debug keys not read", off, []key.Pair{{Name: "IGC_ForceOCLSIMDWidth", Value: "8"}}},
		{"switched off", append([]string{"NEOReadDebugKeys=0"}, off...), []key.Pair{
			{Name: "IGC_ForceOCLSIMDWidth", Value: "8"}, {Name: "NEOReadDebugKeys", Value: "0"},
		}},
		{"read", append([]string{"NEOReadDebugKeys=1", "PrintDebugSettings=1"}, off...), []key.Pair{
			{Name: "IGC_ForceOCLSIMDWidth", Value: "8"},
			{Name: "NEOReadDebugKeys", Value: "1"},
			{Name: "ProductFamilyOverride", Value: "tgllp"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, drivers.Intel.Of(c.environ)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
