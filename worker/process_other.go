//go:build !linux

package worker

import "os/exec"

func alone(*exec.Cmd) {}

func detach(*exec.Cmd) {}

func end(*exec.Cmd) {}

func start(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

func yield() {}
