package deps

// looker looks at many paths, one after the other, by one goroutine. What it says of
// each is what a look at the path alone would say.
type looker interface {
	look(path string) (kind, stamp, error)
	lookAt(path string) (kind, error)
	close()
}

// walk returns a looker, to be closed.
func (s system) walk() looker {
	if s.beneath {
		return newWalker()
	}
	return plainLooker{s}
}

// plainLooker looks at each path by itself.
type plainLooker struct{ s system }

func (p plainLooker) look(path string) (kind, stamp, error) { return p.s.look(path) }

func (p plainLooker) lookAt(path string) (kind, error) { return p.s.lookAt(path) }

func (plainLooker) close() {}
