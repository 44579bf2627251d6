//go:build ignore

// A parent in Go that starts a command, waits for it, and does nothing else.
package main

import (
	"os"
	"os/exec"
)

func main() {
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if c.Run() != nil {
		os.Exit(1)
	}
}
