package rtc

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// A library of nvJitLink's is served if the interposer stands before all of its functions, of each version that it has.
func TestVersionsOfFunctions(t *testing.T) {
	t.Parallel()
	header, err := os.ReadFile("../../shim/nvjitlink/versions.h")
	if _, gone := os.Stat("functions_test.go"); gone != nil {
		t.Skip("NOT TESTED: this program runs without the sources")
	}
	if err != nil {
		t.Fatal(err)
	}
	stood := make(map[string]bool)
	for _, m := range regexp.MustCompile(`F\((_[0-9]+_[0-9]+)\)`).FindAllSubmatch(header, -1) {
		stood[string(m[1])] = true
	}
	if !stood["_12_0"] || !stood["_13_0"] {
		t.Fatal(stood)
	}
	for major := 11; major < 16; major++ {
		for minor := range 12 {
			version := fmt.Sprintf("_%d_%d", major, minor)
			if known := knownFunctions[NVJitLink]().MatchString("__nvJitLinkAddData" + version); known != stood[version] {
				t.Errorf("%s: known %v, stood before %v", version, known, stood[version])
			}
		}
	}
}
