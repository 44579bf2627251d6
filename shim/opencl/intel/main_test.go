//go:build linux

// Package intel_test holds the OpenCL layer with the library against what goes wrong with the
// own cache of Intel's driver, and measures what hits and cold builds cost.
package intel_test

import (
	"os"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
