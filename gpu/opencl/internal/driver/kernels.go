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
		err = errors.Join(err, cl.ReleaseKernel(id))
	}
	return kernels, err
}

func describe(id cl.KernelID) store.Kernel {
	k := store.Kernel{
		Name:       cl.Text(cl.GetKernelInfo(id, cl.KernelFunctionName)),
		Attributes: cl.Text(cl.GetKernelInfo(id, cl.KernelAttributes)),
	}
	n, _ := cl.Number(cl.GetKernelInfo(id, cl.KernelNumArgs))
	for i := range int(n) {
		address, ok := cl.Number(cl.GetKernelArgInfo(id, i, cl.KernelArgAddressQualifier))
		if !ok {
			k.Args = nil
			break
		}
		a := store.Arg{
			Name:     cl.Text(cl.GetKernelArgInfo(id, i, cl.KernelArgName)),
			TypeName: cl.Text(cl.GetKernelArgInfo(id, i, cl.KernelArgTypeName)),
			Address:  address,
		}
		a.Access, _ = cl.Number(cl.GetKernelArgInfo(id, i, cl.KernelArgAccessQualifier))
		a.TypeQual, _ = cl.Number(cl.GetKernelArgInfo(id, i, cl.KernelArgTypeQualifier))
		k.Args = append(k.Args, a)
	}
	return k
}
