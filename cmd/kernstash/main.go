package main

import (
	"os"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
)

func main() {
	if status, ours := launch.Step(os.Args[1:]); ours {
		os.Exit(status)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
