// Command unchanged measures, on a machine with an NVIDIA GPU, what programs that
// know nothing of kernstash and use NVRTC pay for their start: with no cache, with
// caches of their own, and under `kernstash run`. Every run is a process of its own,
// and checks what it computed.
//
//	go build -o unchanged ./gpu/unchanged && cc -O2 gpu/unchanged/testdata/radix.c -o radix -ldl
//	./unchanged -kernstash …/bin/kernstash -radix ./radix -scripts gpu/unchanged/testdata
//
// It fails where a number is wrong, where a warm start compiles, and where of eight
// processes that start at once more than one does.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// app is a program, and how what its own caches have is kept from it.
type app struct {
	name    string
	command []string
	without []string // variables for nothing of its own; %s is a folder of each process's own
	own     []string // variables for its own cache, in the folder %s; none: it has none
}

// run is what a process took and did.
type run struct {
	compile     float64 // milliseconds in the compile call; 0: not told
	kernel, all float64 // milliseconds
	compiled    int     // -1: nobody counted
	disk        int
	misses      string // what was compiled, and why
}

type bench struct {
	kernstash, scratch string
	times, next        int
	failed             []string
}

func main() {
	kernstash := flag.String("kernstash", "bin/kernstash", "the `command`, its libraries beside it")
	radix := flag.String("radix", "", "the `program` built from radix.c; none: it is left out")
	nvrtc := flag.String("nvrtc", "libnvrtc.so", "soname or `path` of NVRTC, for radix")
	include := flag.String("include", "", "`directories` with CUDA's headers and CUB, for radix, with commas between")
	scripts := flag.String("scripts", "", "`directory` of the Python scripts; none: they are left out")
	python := flag.String("python", "python3", "a Python that has CuPy and PyTorch")
	times := flag.Int("n", 5, "processes of each kind")
	flag.Parse()
	b := &bench{times: *times}
	var apps []app
	if *radix != "" {
		command := []string{absolute(*radix)}
		for _, dir := range strings.FieldsFunc(*include, func(r rune) bool { return r == ',' }) {
			command = append(command, "-I", dir)
		}
		apps = append(apps, app{"CUB radix sort, C", append(command, *nvrtc), []string{"HOME=%s"}, nil})
	}
	if *scripts != "" {
		dir := absolute(*scripts)
		apps = append(
			apps,
			app{
				"CuPy",
				[]string{*python, filepath.Join(dir, "cupy_kernels.py")},
				// As a user starts it. Its cache is on, in HOME, and wiped each time.
				[]string{"HOME=%s"},
				[]string{"HOME=%s"},
			},
			app{
				"PyTorch jiterator",
				[]string{*python, filepath.Join(dir, "torch_jiterator.py")},
				// NVRTC has a cache of its own from 12.9 on, in HOME.
				[]string{"HOME=%s", "USE_PYTORCH_KERNEL_CACHE=0"},
				[]string{"HOME=%s", "USE_PYTORCH_KERNEL_CACHE=1", "PYTORCH_KERNEL_CACHE_PATH=%s"},
			},
		)
	}
	b.kernstash = absolute(*kernstash)
	if err := b.show(apps); err != nil {
		fmt.Fprintln(os.Stderr, "unchanged:", err)
		os.Exit(1)
	}
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

func (b *bench) show(apps []app) (err error) {
	if b.scratch, err = os.MkdirTemp("", "kernstash-unchanged-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	for _, a := range apps {
		if err := b.measure(a); err != nil {
			b.failed = append(b.failed, fmt.Sprintf("%s: %v", a.name, err))
			fmt.Printf("%s: FAILED: %v\n\n", a.name, err)
		}
	}
	if len(b.failed) > 0 {
		return errors.New(strings.Join(b.failed, "; "))
	}
	return nil
}

// folder returns the path of a new one.
func (b *bench) folder() string {
	mu.Lock()
	defer mu.Unlock()
	b.next++
	dir := filepath.Join(b.scratch, strconv.Itoa(b.next))
	if err := os.Mkdir(dir, 0o700); err != nil {
		panic(err)
	}
	return dir
}

func (b *bench) measure(a app) error {
	fmt.Printf("| %s | compiled | kernels there, ms | all, ms |\n|---|--:|--:|--:|\n", a.name)
	root := b.folder()
	// The first process of all pays for reading files: it is not counted.
	if _, err := b.run(a, a.without, ""); err != nil {
		return err
	}
	bare, err := b.row("no cache", b.times, func() (run, error) { return b.run(a, a.without, "") })
	if err != nil {
		return err
	}
	best := bare.kernel
	if a.own != nil {
		own := a.with(b.folder())
		if _, err := b.run(a, own, ""); err != nil {
			return err
		}
		r, err := b.row("its own cache, warm", b.times, func() (run, error) { return b.run(a, own, "") })
		if err != nil {
			return err
		}
		best = min(best, r.kernel)
	}
	cold, err := b.row("kernstash, empty", 1, func() (run, error) { return b.run(a, a.without, root) })
	if err != nil {
		return err
	}
	if cold.compiled == 0 {
		return errors.New("the first process compiled nothing: the cache is not in it")
	}
	warm, err := b.row("kernstash, warm", b.times, func() (run, error) {
		r, err := b.run(a, a.without, root)
		if err == nil && (r.compiled > 0 || r.disk == 0) {
			err = fmt.Errorf("a warm start compiled %d, found %d:\n%s", r.compiled, r.disk, r.misses)
		}
		return r, err
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %.0f × faster than compiling; %.2f of the fastest other\n", a.name, bare.kernel/warm.kernel, warm.kernel/best)
	if warm.compile > 0 {
		fmt.Printf("%s: the compile call alone: %.2f ms, a hit %.2f ms, %.0f × faster than compiling\n", a.name, bare.compile, warm.compile, bare.compile/warm.compile)
	}
	return b.together(a)
}

// with returns the variables for the app's own cache, in a folder.
func (a app) with(dir string) []string {
	own := slices.Clone(a.own)
	for i, v := range own {
		own[i] = strings.ReplaceAll(v, "%s", dir)
	}
	return own
}

// together starts eight processes at once on one cold key.
func (b *bench) together(a app) error {
	root := b.folder()
	const processes = 8
	var runs [processes]run
	var errs [processes]error
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() { runs[i], errs[i] = b.run(a, a.without, root) })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	compiled, asked := 0, 0
	for _, r := range runs {
		compiled += r.compiled
		asked = max(asked, r.compiled+r.disk)
	}
	fmt.Printf("%s: %d processes started at once asked for %d programs each, together they compiled %d\n\n", a.name, processes, asked, compiled)
	if compiled > asked {
		return fmt.Errorf("%d compiled by %d processes, %d are enough", compiled, processes, asked)
	}
	return nil
}

// row runs processes, and prints the medians.
func (b *bench) row(what string, times int, process func() (run, error)) (run, error) {
	runs := make([]run, times)
	for i := range runs {
		var err error
		if runs[i], err = process(); err != nil {
			return run{}, fmt.Errorf("%s: %w", what, err)
		}
	}
	median := func(of func(run) float64) float64 {
		values := make([]float64, times)
		for i, r := range runs {
			values[i] = of(r)
		}
		slices.Sort(values)
		return values[times/2]
	}
	r := runs[0]
	r.compile = median(func(r run) float64 { return r.compile })
	r.kernel, r.all = median(func(r run) float64 { return r.kernel }), median(func(r run) float64 { return r.all })
	compiled := "?"
	if r.compiled >= 0 {
		compiled = strconv.Itoa(r.compiled)
	}
	fmt.Printf("| %s | %s | %.2f | %.0f |\n", what, compiled, r.kernel, r.all)
	return r, nil
}

var right = regexp.MustCompile(`(?m)^right;(?: compile ([0-9.]+) ms,)? kernels? there after ([0-9.]+) ms, all ([0-9.]+) ms$`)

var mu sync.Mutex // for folders

// run starts a process, under `kernstash run` if a root is given.
func (b *bench) run(a app, env []string, root string) (run, error) {
	r := run{compiled: -1}
	command, report := a.command, ""
	if root != "" {
		report = filepath.Join(b.folder(), "report.json")
		command = append([]string{b.kernstash, "run", "--quiet", "--report-file", report, "--dir", root, "--"}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = os.Environ()
	for _, v := range env {
		if strings.Contains(v, "%s") {
			v = strings.ReplaceAll(v, "%s", b.folder())
		}
		cmd.Env = append(cmd.Env, v)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s%s", command[0], err, out, stderr.Bytes())
	}
	m := right.FindSubmatch(out)
	if m == nil {
		return r, fmt.Errorf("%s said nothing of right numbers:\n%s%s", command[0], out, stderr.Bytes())
	}
	r.compile, _ = strconv.ParseFloat(string(m[1]), 64)
	r.kernel, _ = strconv.ParseFloat(string(m[2]), 64)
	r.all, _ = strconv.ParseFloat(string(m[3]), 64)
	if report == "" {
		return r, nil
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return r, err
	}
	var said struct {
		Note     string
		Programs struct{ Compiled, Disk, Passed, Failed int }
		Requests []struct{ Key, Label, Outcome, Reason, Nearest string }
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return r, fmt.Errorf("%s: %w", report, err)
	}
	if said.Programs.Passed+said.Programs.Failed > 0 || said.Note != "" {
		fmt.Fprintf(os.Stderr, "%s: %d passed, %d failed; %s\n", a.name, said.Programs.Passed, said.Programs.Failed, said.Note)
	}
	r.compiled, r.disk = said.Programs.Compiled, said.Programs.Disk
	for _, q := range said.Requests {
		if q.Outcome == "compiled" {
			r.misses += fmt.Sprintf("%s %s: %s; %s\n", q.Key, q.Label, q.Reason, q.Nearest)
		}
	}
	return r, nil
}
