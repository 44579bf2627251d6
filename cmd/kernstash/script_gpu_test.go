//go:build !nogpu

package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kernstash/kernstash/internal/needs/versitygw"
)

// TestRuntimeScripts needs an OpenCL device, NVRTC, HIPRTC, and Intel's driver.
func TestRuntimeScripts(t *testing.T) { runScripts(t, "gpu") }

// TestS3Scripts runs those of testdata/s3, each with a bucket of a real server, S3, and an OpenCL device.
func TestS3Scripts(t *testing.T) {
	t.Parallel()
	server := versitygw.Start(t)
	params := scriptParams(filepath.Join("testdata", "s3"))
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("S3", server.URL(server.Bucket(t, "")+"/prod"))
		env.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
		env.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
		return setup(env)
	}
	testscript.Run(t, params)
}
