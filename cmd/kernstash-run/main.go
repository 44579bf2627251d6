// Command kernstash-run is what `make install` installs as kernstash: a small
// static program that runs commands under the cache itself, since every
// millisecond of `kernstash run` is one that the command starts later, and has
// everything else done by the whole command, which lies in ../lib/kernstash as
// kernstash-full, or beside it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kernstash/kernstash/internal/launch"
)

const full = "kernstash-full"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "run" {
		if status, ours := launch.Main(os.Args[2:]); ours {
			os.Exit(status)
		}
	}
	fmt.Fprintf(os.Stderr, "kernstash: %v\n", become())
	os.Exit(1)
}

// become makes this process the whole command. It returns only an error.
func become() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	dir := filepath.Dir(self)
	looked := []string{filepath.Join(dir, "..", "lib", "kernstash", full), filepath.Join(dir, full)}
	for _, path := range looked {
		if _, err := os.Stat(path); err == nil {
			return &os.PathError{Op: "exec", Path: path, Err: syscall.Exec(path, append([]string{"kernstash"}, os.Args[1:]...), os.Environ())}
		}
	}
	return fmt.Errorf("the whole command is in none of %q", looked)
}
