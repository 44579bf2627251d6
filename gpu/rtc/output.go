package rtc

import (
	"bytes"
	"slices"
)

// Form is a form of code that a compile makes.
type Form uint8

// The forms. Their numbers are part of what is stored: append only.
const (
	PTX         Form = iota // NVRTC: text, for the driver to finish
	CUBIN                   // NVRTC: machine code of a real architecture (sm_90)
	LTOIR                   // NVRTC: for linking with -dlto
	OptiXIR                 // NVRTC: for OptiX, with --optix-ir
	NVVM                    // NVRTC 11: as LTOIR was called
	Code                    // HIPRTC: a code object of a real architecture
	Bitcode                 // HIPRTC: LLVM bitcode, with -fgpu-rdc
	LinkedCUBIN             // nvJitLink: machine code
	LinkedPTX               // nvJitLink: with -lto -ptx
	ErrorLog                // nvJitLink: its second log, as the other code
	Result                  // libnvvm: PTX, or LTO IR with -gen-lto
	numForms
)

var formNames = [numForms]string{"PTX", "CUBIN", "LTO IR", "OptiX IR", "NVVM", "code", "bitcode", "linked CUBIN", "linked PTX", "error log", "result"}

func (f Form) String() string {
	if f < numForms {
		return formNames[f]
	}
	return "unknown form"
}

// formFunctions are the names of the functions that give a form, between "Get" and "Size".
var formFunctions = [numForms]string{"PTX", "CUBIN", "LTOIR", "OptiXIR", "NVVM", "Code", "Bitcode", "LinkedCubin", "LinkedPtx", "ErrorLog", "CompiledResult"}

// Forms returns how many forms there are: all are below it.
func Forms() Form { return numForms }

// Answer is what a library answers when it is asked for something: an error code, or bytes.
type Answer struct {
	Asked bool   // the library has the function; else there is nothing here
	Code  int    // of the size's function; 0: success
	Data  []byte // as many bytes as the size said, the final NUL of texts included
}

// Output is everything that a library answers after a successful compile. It
// must not be changed once it is in use.
type Output struct {
	forms   [numForms]Answer
	log     Answer
	lowered []Lowered
	name    string // of the program, where it is known
}

// Lowered is what a name expression is lowered to.
type Lowered struct {
	Expression string
	Code       int // 0: success
	Name       string
}

// NewOutput returns the output that holds these answers, by form; it keeps them.
func NewOutput(log Answer, forms map[Form]Answer, lowered []Lowered) *Output {
	o := &Output{log: log, lowered: lowered}
	for f, a := range forms {
		if f < numForms {
			o.forms[f] = a
		}
	}
	return o
}

// Get returns the code in a form; false: the compile made none.
func (o *Output) Get(f Form) ([]byte, bool) {
	if f >= numForms || o.forms[f].Code != 0 || len(o.forms[f].Data) == 0 {
		return nil, false
	}
	return o.forms[f].Data, true
}

// Answer returns the library's answer for a form.
func (o *Output) Answer(f Form) Answer {
	if f >= numForms {
		return Answer{}
	}
	return o.forms[f]
}

// LogAnswer returns the library's answer for the log.
func (o *Output) LogAnswer() Answer { return o.log }

// Log returns the log, which may hold warnings, without its final NUL.
func (o *Output) Log() string { return logText(o.log.Data) }

func logText(b []byte) string {
	if n := len(b); n > 0 && b[n-1] == 0 {
		b = b[:n-1]
	}
	return string(b)
}

// Lowered returns what a name expression of the request is lowered to.
func (o *Output) Lowered(expression string) (string, bool) {
	for _, l := range o.lowered {
		if l.Expression == expression && l.Code == 0 {
			return l.Name, true
		}
	}
	return "", false
}

// LoweredNames returns the answers for all expressions of the request, in an order of
// its own. The caller must not change them.
func (o *Output) LoweredNames() []Lowered { return o.lowered }

// maxEntries bounds how many kernels are named for people.
const maxEntries = 64

// entries returns the names of the kernels, as far as the PTX, or AMD's code object,
// tells: what people know a program by. They are in its order.
func (o *Output) entries() []string {
	if names := kernelSymbols(o.forms[Code].Data); len(names) > 0 {
		return names
	}
	var names []string
	directive := []byte(".entry ")
	for rest := slices.Concat(o.forms[PTX].Data, o.forms[LinkedPTX].Data, o.forms[Result].Data); len(names) < maxEntries; {
		i := bytes.Index(rest, directive)
		if i < 0 {
			break
		}
		rest = rest[i+len(directive):]
		end := bytes.IndexAny(rest, "( \t\n;,")
		if end <= 0 {
			continue
		}
		if name := string(rest[:end]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// kernelSymbols returns the names whose kernel descriptors are among the symbols of a
// code object: those before .kd.
func kernelSymbols(code []byte) (names []string) {
	suffix := []byte(".kd\x00")
	for len(names) < maxEntries {
		end := bytes.Index(code, suffix)
		if end < 0 {
			break
		}
		if name := string(code[bytes.LastIndexByte(code[:end], 0)+1 : end]); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		code = code[end+len(suffix):]
	}
	return names
}
