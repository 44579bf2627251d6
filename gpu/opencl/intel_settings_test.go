//go:build !nogpu

package opencl_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func init() { children["intel settings"] = intelSettingsChild }

const settingsVariable = "KERNSTASH_TEST_SETTINGS"

// Intel's driver keeps the settings of the directory that it is loaded in, where a process goes
// afterwards.
func TestIntelsSettingsOfAnotherDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ settings, want string }{
		{"ProductFamilyOverride = tgllp\nSetCommandStreamReceiver = 1\n", "the compiler obeys a file of settings: igdrcl.config or neo.config"},
		{"", "the compiler obeys a file of settings, maybe: igdrcl.config or neo.config of another working directory"},
	} {
		got := child(t, "intel settings", settingsVariable+"="+c.settings, "OCL_ICD_VENDORS="+intelICD, "NEOReadDebugKeys=1",
			"SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp")
		if _, got, _ = strings.Cut(got, resultMark); got != c.want {
			t.Errorf("settings %q: %q, want %q", c.settings, got, c.want)
		}
	}
}

func intelSettingsChild() error {
	if settings := os.Getenv(settingsVariable); settings != "" {
		if err := os.WriteFile("igdrcl.config", []byte(settings), 0o600); err != nil {
			return err
		}
	}
	d, err := firstDevice("INTEL")
	if err != nil {
		return err
	}
	if err := os.Mkdir("elsewhere", 0o700); err != nil {
		return err
	}
	if err := os.Chdir("elsewhere"); err != nil {
		return err
	}
	_, err = d.SteadyVariables()
	fmt.Print(resultMark, err)
	return nil
}
