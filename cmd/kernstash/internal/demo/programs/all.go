package programs

import "embed"

//go:embed kernels/*.cl kernels/*.cu kernels/*.spv
var kernels embed.FS

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
	p.Source, p.CUDA = string(kernel(p.Name+".cl")), string(kernel(p.Name+".cu"))
	p.SPIRV = kernel(p.Name + ".spv")
}

func kernel(name string) []byte {
	b, err := kernels.ReadFile("kernels/" + name)
	if err != nil {
		panic(err) // a program without it cannot be committed: its test fails
	}
	return b
}
