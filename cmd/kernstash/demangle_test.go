package main

import "testing"

// The names are what g++ and NVRTC made, the texts what c++filt makes of them, without
// the parameters and the u of unsigned numbers.
func TestDemangle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"scale":                       "scale",
		"_Z5scaleIfEvPT_S0_":          "scale<float>",
		"_Z4saxpifPKfPf":              "saxp",
		"_ZN1a1bILi3EdEEvPT0_":        "a::b<3, double>",
		"_Z1fILb1ELj16ELin2EEvv":      "f<true, 16, -2>",
		"_Z1gIJifEEvDpT_":             "g<int, float>",
		"_Z1hI6float4N2ns3vecIhEEEvv": "h<float4, ns::vec<unsigned char>>",
		"_Z1kIPKcEvT_":                "k<char const*>",
		"_ZN12_GLOBAL__N_11mEv":       "(anonymous namespace)::m",
		"_Z":                          "_Z",
		"_Z0":                         "_Z0",
		"_Z9":                         "_Z9",
		"_Z99999999999999999999a":     "_Z99999999999999999999a",
		"_Z1fI":                       "_Z1fI",
		"_Z1fILi":                     "_Z1fILi",
		"_ZN1a":                       "_ZN1a",
		"_ZplRK1AS1_":                 "_ZplRK1AS1_",
		"_Z1fIXadL_Z1gvEEEvv":         "_Z1fIXadL_Z1gvEEEvv",
	} {
		if got := demangle(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
