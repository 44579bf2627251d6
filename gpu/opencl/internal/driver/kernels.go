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
		err = errors.Join(err, cl.ReleaseKernel.Status(uintptr(id)))
	}
	return kernels, err
}

func describe(id cl.KernelID) store.Kernel {
	k := store.Kernel{
		Name:       cl.Text(cl.GetKernelInfo.Info(cl.KernelFunctionName, uintptr(id))),
		Attributes: cl.Text(cl.GetKernelInfo.Info(cl.KernelAttributes, uintptr(id))),
	}
	n, _ := cl.Number(cl.GetKernelInfo.Info(cl.KernelNumArgs, uintptr(id)))
	for i := range int(n) {
		address, ok := cl.Number(cl.GetKernelArgInfo.Info(cl.KernelArgAddressQualifier, uintptr(id), uintptr(i)))
		if !ok {
			k.Args = nil
			break
		}
		a := store.Arg{
			Name:     cl.Text(cl.GetKernelArgInfo.Info(cl.KernelArgName, uintptr(id), uintptr(i))),
			TypeName: cl.Text(cl.GetKernelArgInfo.Info(cl.KernelArgTypeName, uintptr(id), uintptr(i))),
			Address:  address,
		}
		a.Access, _ = cl.Number(cl.GetKernelArgInfo.Info(cl.KernelArgAccessQualifier, uintptr(id), uintptr(i)))
		a.TypeQual, _ = cl.Number(cl.GetKernelArgInfo.Info(cl.KernelArgTypeQualifier, uintptr(id), uintptr(i)))
		k.Args = append(k.Args, a)
	}
	return k
}
