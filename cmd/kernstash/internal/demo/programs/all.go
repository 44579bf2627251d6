package programs

import (
	"embed"
	"fmt"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

//go:embed kernels/*.cl kernels/*.cu kernels/*.spv
var kernels embed.FS

// languages are those of the programs, with what the names of files end in.
var languages = map[key.Kind]string{key.OpenCLC: ".cl", key.CUDACpp: ".cu", key.SPIRV: ".spv"}

// All returns the programs, cheap ones first.
func All() []Program {
	return []Program{
		newProgram("vadd", "vector add", "", []int{256}, []int{64}, vadd),
		newProgram("reduce", "reduction", "", []int{reduceGroup * reduceGroups}, []int{reduceGroup}, reduce),
		newProgram("nbody", "n-body step", nbodyOptions, []int{nbodyN}, []int{128}, nbody),
		newProgram("fft", "FFT of 1024 points, radix 4", "", []int{fftGroup * fftSignals}, []int{fftGroup}, fft),
		newProgram("matmul", "tiled matrix product", fmt.Sprintf("-DN=%d", matmulN), []int{matmulN / 4, matmulN / 4}, []int{8, 8}, matmul),
		newProgram("sha256d", "SHA-256 twice, unrolled", "", []int{shaMessages}, []int{64}, sha256d),
	}
}

// Warm returns a program to start a compiler with: none of All, and trivial.
func Warm() Program {
	return newProgram("warm", "start of the compiler", "", []int{warmN}, []int{warmN}, warm)
}

// newProgram returns a program, with its sources from where its name says they are.
func newProgram(name, title, options string, global, local []int, problem func() problem) Program {
	texts := make(map[key.Kind][]byte)
	for kind, ending := range languages {
		b, err := kernels.ReadFile("kernels/" + name + ending)
		if err != nil {
			panic(err) // a program without it cannot be committed: its test fails
		}
		texts[kind] = b
	}
	return Program{tool.Code{Name: name, Options: options, Texts: texts}, title, global, local, problem}
}
