package rtc

import (
	"slices"
	"strings"
)

// searches are the options that name a directory to search, which may stand in
// one string with it, behind a blank, or behind an equals sign.
var searches = []string{"--include-path", "-I"}

// separable are the options whose argument may stand in one string with them,
// behind a blank.
var separable = append([]string{"-D", "--define-macro", "-U", "--undefine-macro", "-arch", "--gpu-architecture", "-std", "--std"}, searches...)

// separate returns options with those that hold a blank before their argument
// split in two, and -I=dir as -Idir: so all ways to write a directory look alike.
func separate(options []string) []string {
	out := make([]string, 0, len(options))
	for i, o := range options {
		if i > 0 && slices.Contains(separable, options[i-1]) {
			out = append(out, o) // an argument, whatever it looks like
			continue
		}
		if name, value, ok := strings.Cut(o, " "); ok && slices.Contains(separable, name) {
			if value = strings.TrimLeft(value, " "); value != "" && !strings.ContainsAny(value, quoted) {
				out = append(out, name, value)
				continue
			}
		}
		if dir, ok := strings.CutPrefix(o, "-I="); ok && dir != "" {
			o = "-I" + dir
		}
		out = append(out, o)
	}
	return out
}

// withoutSearch returns options without those that name directories to search.
func withoutSearch(options []string) []string {
	out := make([]string, 0, len(options))
	for i := 0; i < len(options); i++ {
		o := options[i]
		switch {
		case slices.Contains(separable, o) && !slices.Contains(searches, o) && i+1 < len(options):
			out = append(out, o, options[i+1])
			i++
		case slices.Contains(searches, o) && i+1 < len(options):
			i++
		case strings.HasPrefix(o, "--include-path="), strings.HasPrefix(o, "-I") && o != "-I":
		default:
			out = append(out, o)
		}
	}
	return out
}

// located are the options, or their beginnings, with which what is made has the
// working directory in it: debug information; and names that are made of the
// program's.
var located = []string{
	"-G", "--device-debug", "-device-debug", "-lineinfo", "--generate-line-info", "-generate-line-info",
	"-g", "-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dw", "--device-w", "-ewp", "--extensible-whole-program",
	"-dlto", "--dlink-time-opt", "-gen-opt-lto", "--gen-opt-lto", "-fgpu-rdc", "-fdebug", "-fcoverage",
}

func keepsDirectory(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		return o != "-g0" && slices.ContainsFunc(located, func(l string) bool { return strings.HasPrefix(o, l) })
	})
}
