package records

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ exe, args, want string }{
		{"/usr/bin/saxpy", "saxpy --token=secret", "saxpy"},
		{"/opt/hash cat/hashcat.bin (deleted)", "x", "hashcat.bin"},
		{"/usr/bin/python3.12", "python3 -u /home/me/train.py --key secret", "train.py"},
		{"/usr/bin/python3", "python -W ignore -X dev -Bm torch.distributed.run --x secret", "torch.distributed.run"},
		{"/usr/bin/python3", "python -mpytest secret", "pytest"},
		{"/usr/bin/python3", "python -c secret", "python3"},
		{"/usr/bin/python3", "python -Ic secret", "python3"},
		{"/usr/bin/python3", "python -", "python3"},
		{"/usr/bin/python3", "python", "python3"},
		{"/usr/bin/python3", "python -m secret/../x=y", "python3"},
		{"/usr/bin/python3", "python -- serve secret", "serve"},
		{"/usr/bin/python3", "python /usr/bin/vllm serve secret", "vllm"},
		{"/usr/bin/python3", "python --check-hash-based-pycs never a.py", "a.py"},
		{"/usr/bin/python-config", "python-config --x", "python-config"},
		{"/usr/bin/node", "node --require x.cjs --inspect 9229 /srv/app.js secret", "app.js"},
		{"/usr/bin/node", "node -e secret", "node"},
		{"/usr/bin/node", "node --token secret", "node"},
		{"/usr/bin/julia", "julia --project=. -t 4 sim.jl secret", "sim.jl"},
		{"/usr/bin/lua5.4", "lua5.4 a.lua", "a.lua"},
		{"/tmp/" + strings.Repeat("x", 100), "x", strings.Repeat("x", 61) + "…"},
		{"/tmp/a\x1bb", "x", "a?b"},
		{"", "", "."},
	} {
		if got := Name(tt.exe, strings.Fields(tt.args)); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.exe, tt.args, got, tt.want)
		}
	}
}

// TestApplication: a test is known by the name of its file.
func TestApplication(t *testing.T) {
	t.Parallel()
	if got := Application(); got != "records.test" {
		t.Errorf("%q", got)
	}
}

func FuzzName(f *testing.F) {
	f.Add("/usr/bin/python3", "-u\x00a.py\x00secret")
	f.Fuzz(func(t *testing.T, exe, args string) {
		if name := Name(exe, append([]string{"x"}, strings.Split(args, "\x00")...)); len(name) > maxName {
			t.Errorf("%q", name)
		}
	})
}
