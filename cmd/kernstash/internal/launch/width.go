package launch

import "strconv"

// width returns how wide a descriptor is, 0 where it is no terminal and COLUMNS does not
// say.
func width(env environ, of int) int {
	const narrow = 40 // the least that is written for
	if n := terminalWidth(of); n > 0 {
		return max(n, narrow)
	}
	if n, err := strconv.Atoi(env.get("COLUMNS")); err == nil && n > 0 {
		return max(n, narrow)
	}
	return 0
}
