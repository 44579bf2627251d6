package kernstash

// Origin says where a program in memory came from.
type Origin uint8

// The origins of a program.
const (
	Compiled Origin = 1 // built by the driver's compiler
	Disk     Origin = 2 // loaded from an artifact, on disk or in the process
)

func (o Origin) String() string {
	switch o {
	case Compiled:
		return "compiled"
	case Disk:
		return "disk"
	}
	return "unknown"
}

// Origin returns where the program came from when it was made: Disk only if
// that holds for all of its devices.
func (p *Program[P, K]) Origin() Origin {
	for _, u := range p.live().Units() {
		if u.Info.origin != Disk {
			return Compiled
		}
	}
	return Disk
}

// Against returns what speaks against storing the program, for people; empty
// if nothing does.
func (p *Program[P, K]) Against() string {
	for _, u := range p.live().Units() {
		if why := u.Info.group.Uncacheable(); !why.None() {
			return why.String()
		}
	}
	return ""
}
