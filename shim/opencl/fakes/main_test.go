//go:build linux

// Package fakes_test forces faults and races of the driver and of the library before and
// behind the OpenCL layer, under sanitizers too, and looks at where the layer stays out.
package fakes_test

import (
	"os"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
