package cuda

import (
	"github.com/kernstash/kernstash/gpu/rtc"
)

var (
	ArchFor   = archFor
	VersionOf = versionOf
	Entries   = entries
)

// JITOptions is jitOptions, with the options as numbers.
func JITOptions(words []string) (m map[int]int, err error) {
	all, err := jitOptions(words)
	if err != nil {
		return nil, err
	}
	m = make(map[int]int)
	for _, o := range all {
		m[int(o.name)] = int(o.value)
	}
	return m, nil
}

// SetNames gives a module the lowered names of expressions.
func SetNames(m *Module, names []rtc.Lowered) {
	m.names = make(map[string]string)
	for _, n := range names {
		m.names[n.Expression] = n.Name
	}
}
