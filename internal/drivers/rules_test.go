package drivers_test

import (
	"os"
	"path/filepath"
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

// The order of the words of a set decides nothing; what they are does.
func TestSets(t *testing.T) {
	t.Parallel()
	r := drivers.Rules{Prefixes: []string{"P_"}, Sets: []string{"P_SET"}}
	for in, want := range map[string]string{
		"P_SET=b a": "a b", "P_SET=a  b ": "a b", "P_SET=a": "a", "P_SET=a a": "a a", "P_LIST=b a": "b a",
	} {
		if got := r.Of([]string{in}); len(got) != 1 || got[0].Value != want {
			t.Errorf("%s: %v, want %q", in, got, want)
		}
	}
}

// A variable that only looks like a debug key is none where no text of the library ends so.
func TestMayKnow(t *testing.T) {
	t.Parallel()
	library := filepath.Join(t.TempDir(), "libigdrcl.so")
	if err := os.WriteFile(library, []byte("\x7fELF\x00ForceDeviceId\x00EnableX\x00%sMode\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		name  string
		want  bool
	}{
		{[]string{library}, "ForceDeviceId", true},
		{[]string{library}, "DeviceId", true}, // a linker may let two texts share their end
		{[]string{library}, "ForceDevice", false},
		{[]string{library}, "ConEmuANSI", false},
		{[]string{library, library + ".gone"}, "ConEmuANSI", true},
		{nil, "ConEmuANSI", true},
	} {
		if got := drivers.MayKnow(c.paths, c.name); got != c.want {
			t.Errorf("%s in %v: %v, want %v", c.name, c.paths, got, c.want)
		}
	}
}
