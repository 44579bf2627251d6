package settings

import (
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1000000": 1000000, "512MiB": 512 << 20, "5GiB": 5 << 30, "2g": 2 << 30, "2G": 2 << 30,
		"5GB": 5e9, "1.5k": 1536, "10 KiB": 10 << 10, "7b": 7, "0.0k": 0, "0.001k": 1, "1p": 1 << 50, "8191PiB": 8191 << 50,
		"-1": -1, "": -1, "x": -1, "1x": -1, "1e3": -1, "0x10": -1, "1_000": -1, "1.2.3": -1, "inf": -1,
		// A unit that was forgotten, or a part of a byte, must not become "no limit".
		"0.3": -1, "5.5": -1, "5.": -1, "1.5b": -1, "0.0001k": -1,
		".5k": -1, "8192PiB": -1, "99999999999999999999999999999999999999": -1, "+1": -1, "٣": -1,
	} {
		got, err := ParseSize(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestFormatSizeReadsBack(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 1023, 1024, 1025, 5 << 30, 3 << 50, 1<<62 + 1} {
		if got, err := ParseSize(FormatSize(n)); err != nil || got != n {
			t.Errorf("%d as %q: %d, %v", n, FormatSize(n), got, err)
		}
	}
}

func TestParseDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "30": 30 * day, "30d": 30 * day, "12h": 12 * time.Hour, "106751": 106751 * day,
		"106752": -1, "-1": -1, "-1h": -1, "d": -1, "": -1, "1 day": -1, "18446744073709551616": -1,
	} {
		got, err := ParseDays(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "1": "disk", "2": "memory", "3": "disk,memory", "4": "keys", "7": "all",
		"all": "all", "Disk": "disk", "keys, disk": "disk,keys", "disk,all": "all",
		"8": "error", "-1": "error", "disk,": "error", "file": "error",
	} {
		got := "error"
		if m, err := parseTrace(text); err == nil {
			got = m.String()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
