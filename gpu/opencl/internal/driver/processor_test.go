package driver

import "testing"

func TestProcessor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, model, flags string }{
		"x86": {
			"processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: sse2 avx hypervisor avx tsc_known_freq\n\nprocessor\t: 1\nmodel name\t: other\n",
			"AMD EPYC", "avx sse2",
		},
		"arm": {
			"processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\n",
			"CPU implementer 0x41, CPU variant 0x3, CPU part 0xd0c", "asimd fp",
		},
	} {
		if model, flags := parseProcessor(c.text); model != c.model || flags != c.flags {
			t.Errorf("%s: %q, %q", name, model, flags)
		}
	}
}
