package safefs

func (d Dir) open(path string, flags int) (int, error) { return d.openStep(path, flags) }
