package elfid

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The kernel's answers are what it writes to /proc/self/maps.
func TestQuery(t *testing.T) {
	t.Parallel()
	code, ok := queryCode()
	if !ok {
		t.Skip("this kernel cannot be asked what is mapped: it is older than 6.11")
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	written := parseMaps(f)
	if diff := cmp.Diff(written.code, code); diff != "" || len(code) == 0 {
		t.Errorf("the code that is mapped (-written +asked):\n%s", diff)
	}
	for _, want := range written.code {
		if at, ok := (Mappings{}).Find(want.Start); !ok || at != want {
			t.Errorf("at %#x: %v, %v, want %v", want.Start, at, ok, want)
		}
	}
	if at, ok := (Mappings{}).Find(1); ok {
		t.Errorf("at 1: %v", at)
	}
}

func TestParseMaps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, maps     string
		code, readable []Mapping
	}{
		{name: "nothing"},
		{
			name: "a library",
			maps: "7f0000000000-7f0000001000 r--p 00000000 08:01 12                 /usr/lib/lib a.so\n" +
				"7f0000001000-7f0000003000 r-xp 00001000 08:01 12                 /usr/lib/lib a.so\n" +
				"7f0000003000-7f0000004000 ---p 00003000 08:01 12                 /usr/lib/lib a.so\n",
			code:     []Mapping{{0x7f0000001000, 0x7f0000003000, "/usr/lib/lib a.so"}},
			readable: []Mapping{{0x7f0000000000, 0x7f0000001000, "/usr/lib/lib a.so"}, {0x7f0000001000, 0x7f0000003000, "/usr/lib/lib a.so"}},
		},
		{
			name:     "replaced",
			maps:     "1000-2000 r-xp 00001000 08:01 12                 /usr/lib/liba.so (deleted)\n",
			readable: []Mapping{{0x1000, 0x2000, ""}},
		},
		{
			name:     "of no file",
			maps:     "1000-2000 rw-p 00000000 00:00 0 \n2000-3000 r-xp 00000000 00:00 0                  [vdso]\n",
			readable: []Mapping{{0x1000, 0x2000, ""}, {0x2000, 0x3000, ""}},
		},
		{name: "not to be understood", maps: "x-2000 r-xp 00001000 08:01 12 /usr/lib/liba.so\n1000-2000\n"},
		{name: "a line that is too long", maps: "1000-2000 r-xp 0 08:01 12 /a\n" + strings.Repeat("a", 1<<17)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := parseMaps(strings.NewReader(test.maps))
			if diff := cmp.Diff(test.code, m.code); diff != "" {
				t.Errorf("code (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.readable, append([]Mapping(nil), m.readable...)); diff != "" {
				t.Errorf("readable (-want +got):\n%s", diff)
			}
		})
	}
}
