package programs

import (
	"embed"

	"github.com/kernstash/kernstash/key"
)

//go:embed kernels/*.cl kernels/*.cu kernels/*.spv
var kernels embed.FS

// languages are those of the programs, with what the names of files end in.
var languages = map[key.Kind]string{key.OpenCLC: ".cl", key.CUDACpp: ".cu", key.SPIRV: ".spv"}

// All returns the programs, cheap ones first.
func All() []Program {
	all := []Program{vadd(), reduce(), nbody(), fft(), matmul(), sha256d()}
	for i := range all {
		all[i].read()
	}
	return all
}

// Warm returns a program to start a compiler with: none of All, and trivial.
func Warm() Program {
	p := warm()
	p.read()
	return p
}

// read takes the program's sources from where its name says they are.
func (p *Program) read() {
	p.Texts = make(map[key.Kind][]byte)
	for kind, ending := range languages {
		b, err := kernels.ReadFile("kernels/" + p.Name + ending)
		if err != nil {
			panic(err) // a program without it cannot be committed: its test fails
		}
		p.Texts[kind] = b
	}
}
