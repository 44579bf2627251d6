//go:build !nogpu

package main

import (
	"testing"
)

// TestRuntimeScripts needs an OpenCL device, NVRTC, HIPRTC, and Intel's driver.
func TestRuntimeScripts(t *testing.T) { runScripts(t, "gpu") }
