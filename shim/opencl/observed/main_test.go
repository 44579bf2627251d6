//go:build linux

// Package observed_test holds what applications can observe of programs and kernels with the
// OpenCL layer against what they observe without, on real drivers.
package observed_test

import (
	"os"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
