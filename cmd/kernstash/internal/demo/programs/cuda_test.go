package programs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
)

// hostMachine runs CUDA C++ on the CPU, compiled by the C++ compiler as a program of
// its own.
type hostMachine struct {
	t    *testing.T
	path string
}

type hostBuffer struct{ content []byte }

func (b *hostBuffer) Read() ([]byte, error) { return b.content, nil }
func (b *hostBuffer) Release()              {}

func (m *hostMachine) Buffer(size int, content []byte) (tool.Memory, error) {
	b := make([]byte, size)
	copy(b, content)
	return &hostBuffer{b}, nil
}

func (m *hostMachine) Build(ctx context.Context, p tool.Code) (tool.Program, error) {
	dir := m.t.TempDir()
	source := filepath.Join(dir, p.Name+".cpp")
	text := fmt.Sprintf("%s\nint main(int, char **argv) { return run(%s, argv); }\n", p.Texts[key.CUDACpp], p.Name)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "c++"
	}
	m.path = filepath.Join(dir, p.Name)
	args := append([]string{"-std=c++17", "-O1", "-w", "-pthread", "-include", "testdata/cuda_on_cpu.hpp"}, strings.Fields(p.Options)...)
	out, err := exec.CommandContext(ctx, cxx, append(args, source, "-o", m.path)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cxx, err, out)
	}
	return m, nil
}

func (m *hostMachine) Release() {}

func (m *hostMachine) Launch(_ string, global, local []int, args ...any) error {
	var grid, block [2]string
	for d := range grid {
		grid[d], block[d] = "1", "1"
		if d < len(global) {
			grid[d], block[d] = strconv.Itoa(global[d]/local[d]), strconv.Itoa(local[d])
		}
	}
	var in []byte
	contents := make([][]byte, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case *hostBuffer:
			contents[i] = a.content
		case []byte:
			contents[i] = a
		}
		in = binary.NativeEndian.AppendUint32(in, uint32(len(contents[i])))
		in = append(in, contents[i]...)
	}
	cmd := exec.Command(m.path, append(grid[:], block[:]...)...)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	for _, c := range contents {
		out = out[copy(c, out):]
	}
	return nil
}

// TestCUDAOnTheHost: the programs' CUDA C++ computes what it must, as far as a CPU can
// tell.
func TestCUDAOnTheHost(t *testing.T) {
	t.Parallel()
	for _, p := range append(All(), Warm()) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if _, wrong, err := p.Run(t.Context(), &hostMachine{t: t}); err != nil || wrong != "" {
				t.Fatal(wrong, err)
			}
		})
	}
}
