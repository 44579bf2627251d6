//go:build cgo

// Gohost is an OpenCL application that is written in Go, with cgo: its runtime
// and the one of the library live in one process.
package main

/*
#cgo LDFLAGS: -lOpenCL
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdlib.h>

static cl_device_id device;
static cl_context context;

static int start(void)
{
	cl_platform_id platform;
	cl_int code;
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return -1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	return code;
}

static int build(const char *source)
{
	cl_int code;
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &code);
	if (code == CL_SUCCESS)
		code = clBuildProgram(p, 1, &device, "", NULL, NULL);
	cl_kernel k = code == CL_SUCCESS ? clCreateKernel(p, "k", &code) : NULL;
	if (k != NULL)
		clReleaseKernel(k);
	clReleaseProgram(p);
	return code;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

func main() {
	if code := C.start(); code != 0 {
		fail("no context", code)
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 4 {
				source := C.CString(fmt.Sprintf("kernel void k(global int *a) { a[0] = %d; }", worker%2*i))
				if code := C.build(source); code != 0 {
					fail("build", code)
				}
				C.free(unsafe.Pointer(source))
				runtime.GC()
			}
		})
	}
	group.Wait()

	// A goroutine that calls nothing has to be stopped by a signal, or the
	// collector waits for it in vain.
	var stop atomic.Bool
	var n int
	go func() {
		for i := 0; ; i++ {
			n = i
		}
	}()
	time.Sleep(20 * time.Millisecond)
	timer := time.AfterFunc(10*time.Second, func() { os.Exit(4) })
	done := make(chan bool)
	go func() {
		runtime.GC()
		stop.Store(true)
		close(done)
	}()
	<-done
	timer.Stop()

	// A fault in Go code is a panic.
	func() {
		defer func() {
			if recover() == nil {
				os.Exit(5)
			}
		}()
		var p *int
		*p = n
	}()
	fmt.Println("good", stop.Load())
}

func fail(what string, code C.int) {
	fmt.Fprintln(os.Stderr, what, code)
	os.Exit(3)
}
