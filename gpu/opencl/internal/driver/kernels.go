package driver

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/store"
)

// Kernels returns a program's kernels with what the driver tells of their arguments, which is
// nothing where it was not compiled to tell.
func Kernels(p cl.ProgramID) ([]store.Kernel, error) {
	ids, err := cl.CreateKernelsInProgram(p)
	if err != nil {
		return nil, fmt.Errorf("describe kernels: %w", err)
	}
	kernels := make([]store.Kernel, len(ids))
	for i, id := range ids {
		kernels[i] = describe(id)
		err = errors.Join(err, cl.Status("clReleaseKernel", uintptr(id)))
	}
	return kernels, err
}

func describe(id cl.KernelID) store.Kernel {
	k := store.Kernel{
		Name:       cl.Text(cl.Info("clGetKernelInfo", cl.KernelFunctionName, uintptr(id))),
		Attributes: cl.Text(cl.Info("clGetKernelInfo", cl.KernelAttributes, uintptr(id))),
	}
	n, _ := cl.Number(cl.Info("clGetKernelInfo", cl.KernelNumArgs, uintptr(id)))
	for i := range int(n) {
		address, ok := cl.Number(cl.Info("clGetKernelArgInfo", cl.KernelArgAddressQualifier, uintptr(id), uintptr(i)))
		if !ok {
			k.Args = nil
			break
		}
		a := store.Arg{
			Name:     cl.Text(cl.Info("clGetKernelArgInfo", cl.KernelArgName, uintptr(id), uintptr(i))),
			TypeName: cl.Text(cl.Info("clGetKernelArgInfo", cl.KernelArgTypeName, uintptr(id), uintptr(i))),
			Address:  address,
		}
		a.Access, _ = cl.Number(cl.Info("clGetKernelArgInfo", cl.KernelArgAccessQualifier, uintptr(id), uintptr(i)))
		a.TypeQual, _ = cl.Number(cl.Info("clGetKernelArgInfo", cl.KernelArgTypeQualifier, uintptr(id), uintptr(i)))
		k.Args = append(k.Args, a)
	}
	return k
}
