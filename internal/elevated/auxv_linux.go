package elevated

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// atStart reports whether the kernel started the program with rights beyond its
// user's, of whatever kind: it knows of file capabilities as well.
var atStart = sync.OnceValue(func() bool {
	vector, err := unix.Auxv()
	return err == nil && secure(vector)
})

// secure looks for AT_SECURE, which getauxval(3) explains.
func secure(vector [][2]uintptr) bool {
	const atSecure = 23
	return slices.ContainsFunc(vector, func(pair [2]uintptr) bool { return pair[0] == atSecure && pair[1] != 0 })
}
