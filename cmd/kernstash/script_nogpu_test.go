//go:build nogpu

package main

import "testing"

func TestWithoutRuntimes(t *testing.T) { runScripts(t, "nogpu") }
