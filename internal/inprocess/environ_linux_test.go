package inprocess

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestStartEnvironment(t *testing.T) {
	t.Setenv("KERNSTASH_TEST_LATE", "1")
	late := func(v string) bool { return strings.HasPrefix(v, "KERNSTASH_TEST_LATE=") }
	all := StartEnvironment()
	if len(all) == 0 || slices.ContainsFunc(all, late) {
		t.Errorf("%d variables, those set later among them: %v", len(all), slices.ContainsFunc(all, late))
	}
}

const largeVariable = "KERNSTASH_TEST_LARGE"

// An environment of more than a buffer is returned whole.
func TestLargeStartEnvironment(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("v", 100<<10)
	if os.Getenv(largeVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLargeStartEnvironment$", "-test.v")
		cmd.Env = append(os.Environ(), largeVariable+"="+value, "KERNSTASH_TEST_BEHIND=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("read "+strconv.Itoa(len(value)))) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	behind := false
	for _, v := range StartEnvironment() {
		if large, ok := strings.CutPrefix(v, largeVariable+"="); ok && large == value {
			t.Logf("read %d", len(large))
		}
		behind = behind || v == "KERNSTASH_TEST_BEHIND=1"
	}
	if !behind {
		t.Error("what stands behind it is missing")
	}
}
