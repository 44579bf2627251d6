//go:build linux

// Package units_test compiles and links programs separately under the OpenCL layer, with
// header files that change.
package units_test

import (
	"os"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
