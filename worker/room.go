package worker

import (
	"fmt"

	"github.com/kernstash/kernstash/internal/cgroup"
	"github.com/kernstash/kernstash/internal/human"
)

// leastRoom is the memory that a compiler is thought to need: PoCL's takes 230 MB.
const leastRoom = 256 << 20

// Crowded says why no compiler is to run beside the other processes of this process's
// control group, "" if it may. Where the kernel ends one process when memory runs out,
// that is the compiler; where it ends all of the group, as it does in containers of
// Kubernetes, the application would go with it.
func Crowded() string { return crowded(cgroup.Read()) }

func crowded(l cgroup.Limits) string {
	if !l.OneEnds || l.MemoryLeft >= leastRoom {
		return ""
	}
	return fmt.Sprintf("too little memory: %s of %s are left, and all processes of the control group would end together",
		human.Size(l.MemoryLeft), human.Size(l.Memory))
}
