package cuda

import (
	"fmt"
	"math"
	"runtime"
)

// Shape is how a kernel is launched.
type Shape struct {
	Grid   []int // blocks per dimension, one to three
	Block  []int // threads of a block per dimension, one to three
	Shared int   // bytes of shared memory of a block, besides what the kernel declares
}

// Launch queues the kernel over a grid of blocks. A nil stream is the context's
// default one. Arguments are in order, all of them: *Memory, Pointer, numbers of a
// fixed size (int32, float32, uint64, …; not int), bool, []byte, or arrays and
// structures of numbers. They are copied before Launch returns, memory excepted.
// Where the driver tells what the kernel's parameters are (from CUDA 12.4 on),
// other arguments are refused; where not, their sizes are the caller's matter.
func (k *Kernel) Launch(s *Stream, grid, block []int, args ...any) error {
	return k.LaunchShape(s, Shape{Grid: grid, Block: block}, args...)
}

// LaunchShape is Launch with a Shape.
func (k *Kernel) LaunchShape(s *Stream, shape Shape, args ...any) error {
	if err := k.launch(s, shape, args); err != nil {
		return fmt.Errorf("launch %s: %w", k.name, resources(err))
	}
	return nil
}

func (k *Kernel) launch(s *Stream, shape Shape, args []any) error {
	grid, err := dimensions(shape.Grid)
	if err != nil {
		return fmt.Errorf("grid: %w", err)
	}
	block, err := dimensions(shape.Block)
	if err != nil {
		return fmt.Errorf("block: %w", err)
	}
	if shape.Shared < 0 || shape.Shared > math.MaxInt32 {
		return fmt.Errorf("%w: %d bytes of shared memory", ErrArgument, shape.Shared)
	}
	if s == nil {
		s = k.module.context.DefaultStream()
	}
	stream, err := s.id()
	if err != nil {
		return err
	}
	if _, err := k.module.get(); err != nil {
		return err
	}
	context, err := k.module.context.get()
	if err != nil {
		return err
	}
	params, err := k.params(args)
	if err != nil {
		return err
	}
	var pin runtime.Pinner // of what params point to
	defer pin.Unpin()
	if len(params) > 0 {
		pin.Pin(params[0])
	}
	return current(context, func() error {
		return call("cuLaunchKernel", k.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
			uintptr(shape.Shared), stream, uintptr(addr(params)), 0)
	})
}

// dimensions returns three sizes of one to three.
func dimensions(sizes []int) (d [3]uintptr, err error) {
	if len(sizes) < 1 || len(sizes) > len(d) {
		return d, fmt.Errorf("%w: %d dimensions", ErrArgument, len(sizes))
	}
	d = [3]uintptr{1, 1, 1}
	for i, n := range sizes {
		if n < 1 || n > math.MaxInt32 {
			return d, fmt.Errorf("%w: %v", ErrArgument, sizes)
		}
		d[i] = uintptr(n)
	}
	return d, nil
}
