package entries

import (
	"strings"
	"testing"
)

// A program has one name, whoever tells of it.
func TestLabel(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"": "–", "12 bytes": "12 bytes", "a, b": "a, b", "a, b, c, d": "a, b, c and 1 more", "a, b, c, d, e…": "a, b, c and at least 2 more",
		"a, b, c, d, … 26 more": "a, b, c and 27 more", "a, … 2 more": "a and 2 more", "1 byte": "1 byte",
		"abc…": "abc…", "_Z5scaleIfEvPT_S0_, b": "scale<float>, b", "a\x1b[2J": "a�[2J",
	} {
		if got := Label(label); got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}

// The names are what g++ and NVRTC made, the texts what c++filt -p makes of them, with
// ">>" where it has "> >".
func TestKernelName(t *testing.T) {
	t.Parallel()
	deep := "_Z1f" + strings.Repeat("I1a", 500) + strings.Repeat("E", 500) + "vv"
	for name, want := range map[string]string{
		"scale":                          "scale",
		"_Z5scaleIfEvPT_S0_":             "scale<float>",
		"_Z4saxpifPKfPf":                 "saxp",
		"_ZN1a1bILi3EdEEvPT0_":           "a::b<3, double>",
		"_Z1fILb1ELj16ELin2EEvv":         "f<true, 16u, -2>",
		"_Z1gIJifEEvDpT_":                "g<int, float>",
		"_Z1hI6float4N2ns3vecIhEEEvv":    "h<float4, ns::vec<unsigned char>>",
		"_Z1kIPKcEvT_":                   "k<char const*>",
		"_ZN12_GLOBAL__N_11mEv":          "(anonymous namespace)::m",
		"_ZplRK1AS1_":                    "operator+",
		"_Z":                             "_Z",
		"_Z0":                            "_Z0",
		"_Z9":                            "_Z9",
		"_Z99999999999999999999a":        "_Z99999999999999999999a",
		"_Z1fI":                          "_Z1fI",
		"_Z1fILi":                        "_Z1fILi",
		"_ZN1a":                          "_ZN1a",
		"_RNvC6_123foo3bar":              "_RNvC6_123foo3bar", // Rust's
		"_Z" + strings.Repeat("P", 5000): "_Z" + strings.Repeat("P", 5000),
	} {
		if got := KernelName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// a<int, int>, then a of two of the type before, again and again.
	doubling := "_Z1fI1aIiiE"
	for _, c := range "123456789ABCDEFGHIJK" {
		doubling += "S0_IS" + string(c) + "_S" + string(c) + "_E"
	}
	for _, name := range []string{deep, doubling + "Evv"} {
		if got := KernelName(name); len(got) > 4096 {
			t.Errorf("%.40s…: %d bytes", name, len(got))
		}
	}
}
