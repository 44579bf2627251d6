package drivers

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestStepping(t *testing.T) {
	t.Parallel()
	sys := t.TempDir()
	for address, files := range map[string]map[string]string{
		"0000:00:02.0": {"vendor": "0x8086\n", "device": "0x9a49\n", "revision": "0x01\n"},
		"0000:03:00.0": {"vendor": "0x8086\n", "device": "0x56a0\n", "revision": "0x00\n"},
		"0000:04:00.0": {"vendor": "0x8086\n", "device": "0x56a0\n", "revision": "0x08\n"},
		"0000:05:00.0": {"vendor": "0x8086\n", "device": "0x56a1\n", "revision": "0x08\n"},
		"0000:06:00.0": {"vendor": "0x8086\n", "device": "0x56a1\n", "revision": "0x08\n"},
		"0000:07:00.0": {"vendor": "0x10de\n", "device": "0x9a49\n", "revision": "0xa1\n"},
		"0000:08:00.0": {"vendor": "0x8086\n", "device": "0x0bd5\n"},
	} {
		for name, text := range files {
			if err := errors.Join(os.MkdirAll(filepath.Join(sys, address), 0o700), os.WriteFile(filepath.Join(sys, address, name), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	simulated := []string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=1"}
	for _, c := range []struct {
		name    string
		id      uint32
		address string
		environ []string
		want    string // "": not known
	}{
		{"the only one", 0x9a49, "", nil, "0x1"},
		{"two of one revision", 0x56a1, "", nil, "0x8"},
		{"two revisions", 0x56a0, "", nil, ""},
		{"the first of two", 0x56a0, "0000:03:00.0", nil, "0x0"},
		{"the second of two", 0x56a0, "0000:04:00.0", nil, "0x8"},
		{"another device is there", 0x9a49, "0000:03:00.0", nil, "0x1"},
		{"no such device", 0x1234, "", nil, ""},
		{"no revision", 0x0bd5, "0000:08:00.0", nil, ""},
		{"simulated", 0x1234, "", simulated, "of the driver's switches"},
		{"switches that are off", 0x1234, "", []string{"NEOReadDebugKeys=0", "SetCommandStreamReceiver=1"}, ""},
		{"hardware, and a file of what it does", 0x9a49, "", []string{"NEOReadDebugKeys=1", "SetCommandStreamReceiver=3"}, "0x1"},
	} {
		got, err := stepping(sys, c.id, c.address, c.environ)
		if got != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, ErrStepping) {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	if _, err := stepping(filepath.Join(sys, "none"), 0x9a49, "", nil); !errors.Is(err, ErrStepping) {
		t.Errorf("no sysfs: %v", err)
	}
}
