//go:build amd64 || arm64

package supervise

import (
	"bytes"
	"os"
	"strconv"
)

// maxDepth bounds how far a process's ancestors are looked at.
const maxDepth = 64

// descends says whether a process is of the family of another: that one, or a
// descendant. One that has ended is of none.
func descends(pid, of int) bool {
	for range maxDepth {
		switch {
		case pid == of:
			return true
		case pid <= 1:
			return false
		}
		_, pid = stat(pid)
	}
	return false
}

// stateOf is the letter of a process's state, 0 if there is no such process.
func stateOf(pid int) byte {
	state, _ := stat(pid)
	return state
}

func stat(pid int) (state byte, parent int) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// pid (name) state parent …: a name may hold anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent
}
