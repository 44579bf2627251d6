//go:build linux

// Package hosts_test runs unusual applications under the OpenCL layer with the library itself:
// with signal handlers, children, threads, runtimes and caches of their own.
package hosts_test

import (
	"os"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
