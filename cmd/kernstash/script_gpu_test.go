//go:build !nogpu

package main

import "testing"

// TestRuntimeScripts needs an OpenCL device.
func TestRuntimeScripts(t *testing.T) { runScripts(t, "gpu") }
