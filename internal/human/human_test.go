package human

import (
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 1536: "1.50 KiB", 1 << 20: "1.00 MiB",
		1<<20 - 1: "1.00 MiB", 5 << 30: "5.00 GiB", 123456789: "118 MiB", 1<<63 - 1: "8.00 EiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1500: "1.50 µs", 3120 * time.Microsecond: "3.12 ms",
		999600 * time.Nanosecond: "1.00 ms", 999600 * time.Microsecond: "1.00 s", 12345 * time.Millisecond: "12.3 s",
		61 * time.Second: "1 min 01 s", 125 * time.Minute: "2 h 05 min", 72 * time.Hour: "3 days",
		-2 * time.Second: "-2.00 s",
	} {
		if got := Time(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	for d, want := range map[time.Duration]string{
		0: "now", -time.Hour: "now", 1500 * time.Millisecond: "1.00 s ago", 90 * time.Minute: "1 h 30 min ago",
	} {
		if got := Age(now.Add(-d), now); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := Age(time.Time{}, now); got != "never" {
		t.Errorf("zero: %q", got)
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	if got := Plural(1, "entry") + ", " + Plural(2, "entry") + ", " + Plural(0, "hit"); got != "1 entry, 2 entries, 0 hits" {
		t.Error(got)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		lines bool
		want  string
	}{
		{"plain ü 漢", false, "plain ü 漢"},
		{"a\x1b[31mb", false, "a�[31mb"},
		{"a\nb\tc", false, "a�b�c"},
		{"a\nb\tc", true, "a\nb\tc"},
		{"a\u202eb", true, "a�b"},
		{"\xff", true, "�"},
	} {
		if got := Printable(tt.in, tt.lines); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all  []string
		more int
		want string
	}{
		{nil, 0, ""},
		{[]string{"a"}, 0, "a"},
		{[]string{"a", "b", "c"}, 0, "a, b, c"},
		{[]string{"a", "b", "c", "d", "e"}, 0, "a, b, c and 2 more"},
		{[]string{"a", "b", "c", "d", "e"}, 4, "a, b, c and 6 more"},
		{[]string{"a"}, 1, "a and 1 more"},
	} {
		if got := Names(tt.all, tt.more); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.all, got, tt.want)
		}
	}
}
