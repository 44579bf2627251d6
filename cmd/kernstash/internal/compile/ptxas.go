package compile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/deps/ptx"
	"github.com/kernstash/kernstash/key"
)

// ptxas is NVIDIA's assembler of PTX, which JAX, Triton and nvcc start. It reads its input, and
// looks at the files that .file directives name, of which it writes time and size into what it
// makes (traced: versions 11.8 and 12.4). Of variables it asks for one.
var ptxas = compiler{
	names: []string{"ptxas", "ptxas-blackwell"}, read: readPTXAS, messages: ptxasMessages, // the second in Triton's package
}

// ptxasOptions are those of 11.8 and 12.4 with which it writes its output, and nothing but
// that. Not here: --options-file, --input-as-string, --help, --version, and --device-debug, with which 13.0
// writes the command line.
var ptxasOptions = options{
	valued: []string{
		"--output-file", "-o", "--gpu-name", "-arch", "--opt-level", "-O", "--machine", "-m", "--entry", "-e", "--fmad", "-fmad",
		"--allow-expensive-optimizations", "-allow-expensive-optimizations", "--register-usage-level", "-regUsageLevel",
		"--def-load-cache", "-dlcm", "--def-store-cache", "-dscm", "--force-load-cache", "-flcm", "--force-store-cache", "-fscm",
		"--device-function-maxrregcount", "-func-maxrregcount", "--maxrregcount", "-maxrregcount", "--maxntid", "-maxntid",
		"--minnctapersm", "-minnctapersm", "--position-independent-code", "-pic",
	},
	joined: []string{"-O", "-m"},
	never:  []string{"-O"}, // "-O 3" is -O, and an input called 3
	flags: []string{
		"--compile-as-tools-patch", "-astoolspatch", "--compile-only", "-c", "--disable-warnings", "-w",
		"--disable-optimizer-constants", "-disable-optimizer-consts", "--dont-merge-basicblocks", "-no-bb-merge",
		"--extensible-whole-program", "-ewp", "--generate-line-info", "-lineinfo", "--preserve-relocs", "-preserve-relocs",
		"--legacy-bar-warp-wide-behavior", "-legacy-bar-warp-wide-behavior", "--optimize-float-atomics", "-opt-fp-atomics",
		"--override-directive-values", "-override-directive-values", "--return-at-end", "-ret-end",
		"--sp-bounds-check", "-sp-bounds-check", "--suppress-debug-info", "-suppress-debug-info",
		"--suppress-async-bulk-multicast-advisory-warning", "-suppress-async-bulk-multicast-advisory-warning",
		"--suppress-double-demote-warning", "-suppress-double-demote-warning",
		"--suppress-stack-size-warning", "-suppress-stack-size-warning", "--verbose", "-v",
		"--warn-on-double-precision-use", "-warn-double-usage", "--warn-on-local-memory-usage", "-warn-lmem-usage",
		"--warn-on-spills", "-warn-spills", "--warning-as-error", "-Werror",
	},
}

func readPTXAS(args []string, getenv func(string) string) (*invocation, error) {
	for _, name := range []string{"DUMP_KNOBS_TO_FILE", "CAN_FINALIZE_DEBUG"} {
		if getenv(name) != "" {
			return nil, errors.New(name + " is set")
		}
	}
	l, err := ptxasOptions.split(args)
	if err != nil {
		return nil, err
	}
	v := &invocation{kind: key.PTX}
	if v.output, err = l.take("--output-file"); err != nil {
		return nil, err
	}
	if len(l.others) != 1 {
		return nil, errors.New("not one input")
	}
	v.input = l.others[0]
	if v.code, err = readInput(v.input); err != nil {
		return nil, err
	}
	files, err := ptx.Files(v.code)
	v.attributes = append(l.attributes(), files...)
	return v, err
}

// ptxasMessages knows the two messages of ptxas in which the name of its input is. All begin with
// its own name.
func ptxasMessages(text, name, other string) (renamed string, ok bool) {
	for _, form := range []string{" %s, line ", "file '%s'"} {
		text = strings.ReplaceAll(text, fmt.Sprintf(form, name), fmt.Sprintf(form, other))
	}
	return text, !strings.Contains(text, name)
}
