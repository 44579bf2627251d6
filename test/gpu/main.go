// Command gpu measures, on a machine with an NVIDIA GPU, what an OpenCL program
// that knows nothing of kernstash pays for its start: with nothing, with the
// driver's own cache, and under the layer, through a loader that knows layers
// and through CUDA's, which knows none. Every run is a process of its own, and
// checks what it computed.
//
//	go build -o gpu ./gpu && cc -O2 gpu/testdata/heavy.c -o heavy -lOpenCL
//	cc -O2 -include ../shim/opencl/testdata/opened.h gpu/testdata/heavy.c -o heavy-opened -ldl
//	./gpu -kernstash …/bin/kernstash -heavy ./heavy -cuda /usr/local/cuda/lib64
//
// The driver's ICD file must be installed, and be the first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// way is a way to start the program.
type way struct {
	name     string
	cached   bool   // the driver's own cache is on
	warm     bool   // the driver's own cache has it
	frontEnd string // "" runs without the layer
	loader   string // directory of the OpenCL loader, "" for the usual one
	opened   string // which library the program opens by itself; "": it is linked
}

type bench struct {
	kernstash, heavy, args string
	opened                 string // heavy that opens its library, "" where it is not there
	scratch                string
	times, compiled        int
	binaries               map[string]string // their sums without kernstash, by loader
	caches                 map[string]string // warm ones of the driver's, by loader
	roots                  map[string]string // caches of ours, by front end
}

func main() {
	kernstash := flag.String("kernstash", "bin/kernstash", "the `command`, its libraries beside it")
	heavy := flag.String("heavy", "./heavy", "the `program`, built from heavy.c; PROGRAM-opened opens its loader by itself")
	cuda := flag.String("cuda", "", "`directory` of CUDA's libOpenCL.so.1, to measure LD_PRELOAD")
	loader := flag.String("loader", "", "`directory` of an OpenCL loader that knows layers, where the usual one knows none")
	times := flag.Int("n", 5, "processes of each kind")
	compiled := flag.Int("compiled", 2, "processes of each kind that compile, which takes ten seconds; of two the faster one is shown")
	only := flag.String("only", "", "measure the program whose name has this `text`: one-line, heavy")
	flag.Parse()
	if *times < 1 || *compiled < 1 {
		fmt.Fprintln(os.Stderr, "gpu: -n and -compiled: at least 1")
		os.Exit(2)
	}
	if err := show(*kernstash, *heavy, *cuda, *loader, *only, *times, *compiled); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

func show(kernstash, heavy, cuda, loader, only string, times, compiled int) error {
	scratch, err := os.MkdirTemp("", "kernstash-gpu")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := &bench{scratch: scratch, times: times, compiled: compiled}
	for _, p := range []struct {
		to   *string
		path string
	}{{&b.kernstash, kernstash}, {&b.heavy, heavy}} {
		if *p.to, err = filepath.Abs(p.path); err != nil {
			return err
		}
	}
	ways := []way{
		{name: "built, driver's cache off"},
		{name: "driver's own cache, warm", cached: true, warm: true},
		{name: "layer, driver's cache off", frontEnd: "layer"},
		{name: "layer, driver's cache on, empty", frontEnd: "layer", cached: true},
		{name: "layer, driver's cache on, warm", frontEnd: "layer", cached: true, warm: true},
	}
	for i := range ways {
		ways[i].loader = loader
	}
	if cuda != "" {
		ways = append(ways,
			way{name: "LD_PRELOAD under CUDA's loader, driver's cache off", frontEnd: "preload", loader: cuda},
			way{name: "LD_PRELOAD under CUDA's loader, driver's cache on, warm", frontEnd: "preload", loader: cuda, cached: true, warm: true})
	}
	if _, err := os.Stat(b.heavy + "-opened"); err == nil && cuda != "" {
		b.opened = b.heavy + "-opened"
		const soname = "libOpenCL.so.1"
		ways = append(ways,
			way{name: "CUDA's loader by dlopen, driver's cache off", frontEnd: "preload", loader: cuda, opened: soname},
			way{name: "CUDA's loader by dlopen of its path, driver's cache off", frontEnd: "layer", loader: loader, opened: filepath.Join(cuda, soname)})
	}
	for _, size := range []struct {
		name, args string
		small      []int // how many small programs the process has built before
	}{
		{"one-line kernel", "1 1", []int{0}},
		{"heavy program", "60 120", []int{0, 1}},
	} {
		if !strings.Contains(size.name, only) {
			continue
		}
		b.args, b.binaries, b.roots, b.caches = size.args, make(map[string]string), make(map[string]string), make(map[string]string)
		if err := b.measure(size.name, size.small, ways); err != nil {
			return err
		}
	}
	return nil
}

// started is what one process said.
type started struct {
	build, first float64
	binary       string // a sum of the program's binary, where it was asked for
	report       string // of kernstash
}

// prepared is a way of which all is there that it finds when it starts.
type prepared struct {
	way
	dir, cache, root string
	all              map[int][]started // by the number of small programs before
}

// measure starts all ways in turns, since these machines' pace changes, and shows medians.
func (b *bench) measure(size string, small []int, ways []way) error {
	var all []*prepared
	for _, w := range ways {
		p, err := b.prepare(w)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	for i := range b.times {
		for _, p := range all {
			for _, n := range small {
				if p.compiles() && i >= b.compiled {
					continue
				}
				if err := b.again(p, fmt.Sprint(i, "-", n), n); err != nil {
					return err
				}
			}
		}
	}
	for _, n := range small {
		fmt.Printf("\n| %s, the process's program %d | build call, ms | to the first result, ms |\n|---|--:|--:|\n", size, n+1)
		for _, p := range all {
			median := func(f func(started) float64) float64 {
				slices.SortFunc(p.all[n], func(x, y started) int { return int(1e6 * (f(x) - f(y))) })
				return f(p.all[n][(len(p.all[n])-1)/2])
			}
			fmt.Printf("| %s | %.2f | %.2f |\n", p.name, median(func(s started) float64 { return s.build }), median(func(s started) float64 { return s.first }))
		}
	}
	return nil
}

// compiles reports whether each start of the way does: with nothing that has the program.
func (w way) compiles() bool { return w.frontEnd == "" && !w.warm }

// prepare warms the driver's own cache, one for each loader, and a cache of ours, one for
// each front end, with all that the worker has to do there.
func (b *bench) prepare(w way) (*prepared, error) {
	dir, err := os.MkdirTemp(b.scratch, "way")
	if err != nil {
		return nil, err
	}
	p := &prepared{way: w, dir: dir, cache: filepath.Join(dir, "driver"), all: make(map[int][]started)}
	if p.warm {
		if p.cache, err = b.warmed(w); err != nil {
			return nil, err
		}
	}
	if w.frontEnd == "" {
		return p, nil
	}
	frontEnd := fmt.Sprint(w.frontEnd, w.loader, w.opened)
	if b.roots[frontEnd] == "" {
		p.root = filepath.Join(dir, "root")
		if _, err := b.start(w, p.cache, p.root, 1); err != nil {
			return nil, err
		}
		out, err := exec.Command(b.kernstash, "--dir", p.root, "worker", "run", "--once").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("worker run: %w: %s", err, out)
		}
		b.roots[frontEnd] = p.root
	}
	p.root = b.roots[frontEnd]
	return p, b.compareBinary(w, p.cache, p.root)
}

// warmed returns a directory of the driver's that has the program.
func (b *bench) warmed(w way) (string, error) {
	if b.caches[w.loader] == "" {
		dir, err := os.MkdirTemp(b.scratch, "driver")
		if err != nil {
			return "", err
		}
		w.frontEnd, w.cached = "", true
		if _, err := b.start(w, dir, "", 1); err != nil {
			return "", err
		}
		b.caches[w.loader] = dir
	}
	return b.caches[w.loader], nil
}

// again is one more start of a way, of a name of its own, with as many small programs first.
func (b *bench) again(p *prepared, name string, small int) error {
	cache := p.cache
	if p.cached && !p.warm {
		cache = filepath.Join(p.dir, "driver"+name)
	}
	s, err := b.start(p.way, cache, p.root, small)
	if err != nil {
		return err
	}
	if p.frontEnd != "" && (!strings.Contains(s.report, "\n  on disk ") || strings.Contains(s.report, "\n  compiled ")) {
		return fmt.Errorf("%s: not served: %s", p.name, s.report)
	}
	p.all[small] = append(p.all[small], s)
	return nil
}

// compareBinary looks whether an application that asks for the program's binary is
// given the same in all ways.
func (b *bench) compareBinary(w way, cache, root string) error {
	if _, ok := b.binaries[w.loader]; !ok {
		plain := w
		plain.frontEnd, plain.cached = "", true
		warm, err := b.warmed(plain)
		if err != nil {
			return err
		}
		s, err := b.start(plain, warm, root, 0, "HEAVY_BINARY=1")
		if err != nil {
			return err
		}
		b.binaries[w.loader] = s.binary
	}
	if w.frontEnd == "" {
		return nil
	}
	s, err := b.start(w, cache, root, 0, "HEAVY_BINARY=1")
	if want := b.binaries[w.loader]; err == nil && s.binary != want {
		err = fmt.Errorf("%s: the binary has the sum %s, not %s", w.name, s.binary, want)
	}
	return err
}

// start runs the program once, after as many small ones in its process.
func (b *bench) start(w way, cache, root string, small int, environ ...string) (s started, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	program := b.heavy
	if w.opened != "" {
		program = b.opened
	}
	command := append([]string{program}, append(strings.Fields(b.args), strconv.Itoa(small))...)
	if w.frontEnd != "" {
		command = append([]string{b.kernstash, "run", "--inject", w.frontEnd, "--report", "--"}, command...)
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), "CUDA_CACHE_PATH="+cache, "KERNSTASH_DIR="+root)
	if w.opened != "" {
		c.Env = append(c.Env, "OPENED="+w.opened, "OPENED_HOW=local")
	}
	if !w.cached {
		c.Env = append(c.Env, "CUDA_CACHE_DISABLE=1")
	}
	c.Env = append(c.Env, environ...)
	if w.loader != "" {
		c.Env = append(c.Env, "LD_LIBRARY_PATH="+w.loader+":"+os.Getenv("LD_LIBRARY_PATH"))
	}
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return s, fmt.Errorf("%s: %w: %s%s", w.name, err, out, errs.String())
	}
	s.report = errs.String()
	var bytes int
	if _, err := fmt.Sscanf(string(out), "build %f first %f bytes %d sum %s right", &s.build, &s.first, &bytes, &s.binary); err != nil {
		return s, errors.Join(fmt.Errorf("%s: it said %q", w.name, out), err)
	}
	if os.Getenv("GPU_TALK") != "" {
		fmt.Fprintf(os.Stderr, "%s: %s%s", w.name, out, errs.String())
	}
	return s, nil
}
