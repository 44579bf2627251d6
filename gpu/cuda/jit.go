package cuda

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// jitOption is an option of the driver's compiler: a CUjit_option and its value.
type jitOption struct {
	name  jitName
	value uintptr
}

// jitName is a CUjit_option.
type jitName int32

// Options of the driver's compiler.
const (
	jitMaxRegisters      jitName = 0
	jitInfoLog           jitName = 3
	jitInfoLogSize       jitName = 4
	jitErrorLog          jitName = 5
	jitErrorLogSize      jitName = 6
	jitOptimizationLevel jitName = 7
	jitDebugInfo         jitName = 11
	jitVerbose           jitName = 12
	jitLineInfo          jitName = 13
)

// maxLog is what is kept of either log.
const maxLog = 16 << 10

// jit holds options in the form that C takes, with two logs. It is pinned, since
// the driver keeps pointers to it between the calls of a link.
type jit struct {
	names       []jitName
	values      []uintptr
	info, fails []byte
	pin         runtime.Pinner
}

func newJIT(options []jitOption) *jit {
	j := &jit{info: make([]byte, maxLog), fails: make([]byte, maxLog)}
	for _, o := range options {
		j.names, j.values = append(j.names, o.name), append(j.values, o.value)
	}
	j.names = append(j.names, jitInfoLog, jitInfoLogSize, jitErrorLog, jitErrorLogSize)
	j.values = append(j.values, uintptr(addr(j.info)), maxLog, uintptr(addr(j.fails)), maxLog)
	j.pin.Pin(&j.info[0])
	j.pin.Pin(&j.fails[0])
	j.pin.Pin(&j.names[0])
	j.pin.Pin(&j.values[0])
	return j
}

func (j *jit) unpin() { j.pin.Unpin() }

// log is what the driver's compiler said so far.
func (j *jit) log() string {
	info, fails := text(j.info), text(j.fails)
	switch {
	case fails == "":
		return info
	case info == "":
		return fails
	}
	return fails + "\n" + info
}

// jitOptions translates options, which are called as nvcc and NVRTC call them, to
// the driver's. Another one is an error: nothing is left out in silence.
func jitOptions(words []string) ([]jitOption, error) {
	var options []jitOption
	for i := 0; i < len(words); i++ {
		name, value, has := strings.Cut("-"+strings.TrimLeft(words[i], "-"), "=")
		number := func(o jitName, least, most int) error {
			if !has && i+1 < len(words) {
				i++
				value = words[i]
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < least || n > most {
				return fmt.Errorf("%w: option %s for the driver's compiler: %q", ErrArgument, name, value)
			}
			options = append(options, jitOption{o, uintptr(n)})
			return nil
		}
		var err error
		switch name {
		case "-maxrregcount":
			err = number(jitMaxRegisters, 1, 255)
		case "-opt-level":
			err = number(jitOptimizationLevel, 0, 4)
		case "-O0", "-O1", "-O2", "-O3", "-O4":
			options = append(options, jitOption{jitOptimizationLevel, uintptr(name[2] - '0')})
		case "-G", "-device-debug":
			options = append(options, jitOption{jitDebugInfo, 1})
		case "-lineinfo", "-generate-line-info":
			options = append(options, jitOption{jitLineInfo, 1})
		case "-v", "-verbose":
			options = append(options, jitOption{jitVerbose, 1})
		default:
			err = fmt.Errorf("%w: option %q is none of the driver's compiler (-maxrregcount=N, -O0 to -O4, -G, -lineinfo, -v)", ErrArgument, words[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return options, nil
}
