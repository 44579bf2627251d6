//go:build linux && !nogpu

package build_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
	"github.com/kernstash/kernstash/worker/build"
)

// workerRole is `kernstash worker run` and `kernstash worker build`, as far as these
// tests need them; or, by a root and the role of its builders, a worker that ends.
func workerRole(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	if args[0] == "build" { // --dir ROOT
		return build.Main(disk.New(disk.Options{Dir: args[2]}), builders)
	}
	o := worker.Options{NormalPriority: true}
	if args[0] == "run" {
		worker.CloseInherited(3)
		o.Store = disk.New(disk.Options{Dir: os.Getenv("KERNSTASH_DIR")})
		o.Command = worker.BuilderCommand(self, o.Store, nil)
		o.Idle = time.Minute
	} else {
		o.Store = disk.New(disk.Options{Dir: args[0]})
		o.Command, o.Once = []string{self, args[1], args[0]}, true
	}
	defer o.Store.Close()
	st, err := worker.Run(context.Background(), o)
	fmt.Println(st.Done, st.Refused, err)
	if err != nil {
		return 1
	}
	return 0
}
