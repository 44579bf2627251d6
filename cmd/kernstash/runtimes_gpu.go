//go:build !nogpu

package main

// hasRuntimes says whether this command can reach a GPU runtime at all.
const hasRuntimes = true

// doctorRuntimes are those that the doctor looks at.
var doctorRuntimes = []doctorRuntime{
	{"opencl", "OpenCL", checkOpenCL},
	{"cuda", "CUDA", checkCUDA},
	{"nvrtc", "NVRTC", checkNVRTC},
	{"hiprtc", "HIPRTC", checkHIPRTC},
	{"levelzero", "Level Zero", checkLevelZero},
}
