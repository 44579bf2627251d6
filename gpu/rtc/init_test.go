package rtc

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// What is needed for few programs is made for these: each process that has the cache would pay for it as it begins.
func TestLittleIsMadeAtFirst(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := regexp.MustCompile(`init github.com/kernstash/kernstash/gpu/rtc @.* ([0-9]+) bytes`).FindSubmatch(out)
	if m == nil {
		return // nothing is made at all
	}
	if n, err := strconv.Atoi(string(m[1])); err != nil || n > 8<<10 {
		t.Errorf("%s bytes: %v", m[1], err)
	}
}
