//go:build linux && !nogpu

package build_test

import (
	"context"
	"fmt"
	"os"

	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// workerRole is a worker in a process of its own: its root, and the role of its
// builders.
func workerRole(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	s := disk.New(disk.Options{Dir: args[0]})
	defer s.Close()
	st, err := worker.Run(context.Background(), worker.Options{
		Store: s, Command: []string{self, args[1], args[0]}, Once: true, NormalPriority: true,
	})
	fmt.Println(st.Done, st.Refused, err)
	if err != nil {
		return 1
	}
	return 0
}
