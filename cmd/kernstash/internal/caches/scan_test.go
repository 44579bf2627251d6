package caches

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPlacesWithoutHome: PoCL has its cache below /tmp then.
func TestPlacesWithoutHome(t *testing.T) {
	t.Parallel()
	got := rules[0].places(&surroundings{get: environ(), dir: "/w"})
	if want := (place{dir: "/tmp/pocl/kcache"}); rules[0].tool != "pocl" || got[len(got)-1] != want {
		t.Errorf("%+v, want %v at its end", got, want)
	}
}

// TestPlaces: where each tool's cache is, by variables and by default.
func TestPlaces(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("on Windows the tools keep their caches at other paths, for which this table has no row")
	}
	for _, tt := range []struct {
		env  string
		want map[string]string // of tools, the directories
	}{
		{"LOGNAME=a:b", map[string]string{
			"pocl": "/h/.cache/pocl/kcache /h/.cache/pocl/uncached", "neo": "/h/.cache/neo_compiler_cache /h/neo_compiler_cache /w/cl_cache /w/l0_cache /w/ocloc_cache",
			"dpcpp": "/h/.cache/libsycl_cache /r/.meta/frameworks/dpcpp=kernstash run", "cuda": "/h/.nv/ComputeCache", "cuda-python": "/h/.cache/cuda-python",
			"mesa": "/h/.cache/mesa_shader_cache /p/.cache/mesa_shader_cache /h/.cache/mesa_shader_cache_db /p/.cache/mesa_shader_cache_db /h/.cache/mesa_shader_cache_sf /p/.cache/mesa_shader_cache_sf",
			"cupy": "/h/.cupy/kernel_cache", "triton": "/h/.triton/cache", "inductor": "/tmp/torchinductor_a_b", "flashinfer": "/h/.cache/flashinfer",
			"numba": "/h/.cache/numba", "comgr": "/h/.cache/comgr /h/.cache/comgr_cache /r/.meta/frameworks/comgr=kernstash run",
			"miopen": "/h/.cache/miopen /h/.config/miopen", "jax": "/r/.meta/frameworks/jax=kernstash run",
		}},
		{"XDG_CACHE_HOME=/x", map[string]string{
			"pocl": "/x/pocl/kcache /x/pocl/uncached", "dpcpp": "/x/libsycl_cache /r/.meta/frameworks/dpcpp=kernstash run", "cuda-python": "/x/cuda-python",
			"flashinfer": "/h/.cache/flashinfer", "miopen": "/h/.cache/miopen /h/.config/miopen", "numba": "/x/numba", "cuda": "/h/.nv/ComputeCache",
		}},
		{"XDG_CACHE_HOME=relative", map[string]string{"pocl": "/h/.cache/pocl/kcache /h/.cache/pocl/uncached"}},
		{"POCL_CACHE_DIR=/v CUPY_CACHE_DIR=rel JAX_COMPILATION_CACHE_DIR=gs://bucket/x CUDA_CACHE_PATH=/c SYCL_CACHE_DIR=/s cl_cache_dir=/cl l0_cache_dir=/l0 NEO_CACHE_DIR=/n", map[string]string{
			"pocl": "/v=POCL_CACHE_DIR /h/.cache/pocl/kcache /h/.cache/pocl/uncached", "cupy": "/w/rel=CUPY_CACHE_DIR /h/.cupy/kernel_cache", "jax": "/r/.meta/frameworks/jax=kernstash run",
			"cuda": "/c=CUDA_CACHE_PATH /h/.nv/ComputeCache", "dpcpp": "/s=SYCL_CACHE_DIR /h/.cache/libsycl_cache /r/.meta/frameworks/dpcpp=kernstash run",
			"neo": "/n=NEO_CACHE_DIR /h/.cache/neo_compiler_cache /h/neo_compiler_cache /cl=cl_cache_dir /w/cl_cache /l0=l0_cache_dir /w/l0_cache /w/ocloc_cache",
		}},
		{"TRITON_CACHE_DIR=/t TRITON_HOME=/th TORCHINDUCTOR_CACHE_DIR=/i FLASHINFER_WORKSPACE_BASE=/f NUMBA_CACHE_DIR=/nb AMD_COMGR_CACHE_DIR=/ac MIOPEN_CUSTOM_CACHE_DIR=/mc MIOPEN_USER_DB_PATH=/mu MESA_SHADER_CACHE_DIR=/ms TMPDIR=/scratch USER=u", map[string]string{
			"triton":   "/t=TRITON_CACHE_DIR /h/.triton/cache /th/.triton/cache=TRITON_HOME",
			"inductor": "/i=TORCHINDUCTOR_CACHE_DIR /scratch/torchinductor_u", "flashinfer": "/f/.cache/flashinfer=FLASHINFER_WORKSPACE_BASE /h/.cache/flashinfer",
			"numba": "/nb=NUMBA_CACHE_DIR /h/.cache/numba", "comgr": "/ac=AMD_COMGR_CACHE_DIR /h/.cache/comgr /h/.cache/comgr_cache /r/.meta/frameworks/comgr=kernstash run",
			"miopen": "/mc=MIOPEN_CUSTOM_CACHE_DIR /h/.cache/miopen /mu=MIOPEN_USER_DB_PATH /h/.config/miopen",
			"mesa":   "/ms/mesa_shader_cache=MESA_SHADER_CACHE_DIR /h/.cache/mesa_shader_cache /p/.cache/mesa_shader_cache /ms/mesa_shader_cache_db=MESA_SHADER_CACHE_DIR /h/.cache/mesa_shader_cache_db /p/.cache/mesa_shader_cache_db /ms/mesa_shader_cache_sf=MESA_SHADER_CACHE_DIR /h/.cache/mesa_shader_cache_sf /p/.cache/mesa_shader_cache_sf",
		}},
	} {
		env := environ(strings.Fields(tt.env)...)
		e := &surroundings{get: env, homeDir: "/h", account: "/p", dir: "/w", root: "/r"}
		for _, r := range rules {
			want, ok := tt.want[r.tool]
			if !ok {
				continue
			}
			var got []string
			for _, p := range r.places(e) {
				text := p.dir
				if p.by != "" {
					text += "=" + p.by
				}
				if text != "" {
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s, %s: %s", tt.env, r.tool, diff)
			}
		}
	}
}

// environ returns what looks variables up in a list.
func environ(all ...string) func(string) string {
	return func(name string) string {
		for _, kv := range all {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// scan scans a home of the test's own, in which PoCL's cache is dir, with nothing else but what
// the working directory and the user's account have.
func scan(t *testing.T, dir string, portable bool, l Limits) *Cache {
	t.Helper()
	home := t.TempDir()
	in := Input{Get: environ("HOME="+home, "POCL_CACHE_DIR="+dir, "TMPDIR="+home), Host: "builder-7", Portable: portable, Limits: l}
	r, err := Scan(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(r.Caches, func(c Cache) bool { return c.Tool == "pocl" }); i >= 0 {
		return &r.Caches[i]
	}
	if !slices.Contains(r.Absent, "pocl") {
		t.Errorf("neither there nor absent: %+v", r)
	}
	return nil
}

func write(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

var day = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// TestScan: files are counted with their sizes and ages; links are not followed, within the cache nor in its place.
func TestScan(t *testing.T) {
	t.Parallel()
	dir, other := filepath.Join(t.TempDir(), "kcache"), t.TempDir()
	if got := scan(t, dir, false, Usual); got != nil {
		t.Errorf("of nothing there is %+v", got)
	}
	write(t, filepath.Join(dir, "a"), "four", day)
	write(t, filepath.Join(dir, "b", "c", "d"), "seven b", day.Add(time.Hour))
	write(t, filepath.Join(other, "e"), "elsewhere", day.Add(2*time.Hour))
	for link, to := range map[string]string{"dir": other, "file": filepath.Join(other, "e"), "b/up": dir, "gone": "/no/such"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links can be made here: ", err)
		}
	}
	want := &Cache{Tool: "pocl", Dir: dir, By: "POCL_CACHE_DIR", Files: 2, Bytes: 11, Links: 4, Oldest: day, Newest: day.Add(time.Hour)}
	if diff := cmp.Diff(want, scan(t, dir, false, Usual)); diff != "" {
		t.Error(diff)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got := scan(t, link, false, Usual); got.Files != 0 || !strings.HasPrefix(got.Error, "a link, which is not followed: ") {
		t.Errorf("%+v", got)
	}
	if got := scan(t, filepath.Join(dir, "a"), false, Usual); got.Error != "not a directory" {
		t.Errorf("%+v", got)
	}
}

// TestPortable: files with paths of this machine, or its name, are told from those without.
func TestPortable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "binary"), "\x7fELF\x00\x01 /usr/lib/x.so and //no /x", day)
	write(t, filepath.Join(dir, "home"), strings.Repeat("\x00", 1<<20-5)+"\x00/home/somebody/kernel.cl\x00", day) // across windows
	write(t, filepath.Join(dir, "again"), "\x00/home/somebody/kernel.cl\x00"+strings.Repeat("/data/y", 30), day)
	write(t, filepath.Join(dir, "host"), "built on builder-7", day)
	got := scan(t, dir, true, Usual).Portable
	if got == nil || got.Paths != 2 || got.Hosts != 1 || got.Looked != 4 {
		t.Fatalf("%+v", got)
	}
	if !slices.Contains(got.Texts, "/home/somebody/kernel.cl") {
		t.Errorf("%q", got.Texts)
	}
	for _, text := range got.Texts {
		if len(text) > 70 {
			t.Errorf("%q is long", text)
		}
	}
	for host, want := range map[string]int{"": 0, "vm": 0, "localhost": 0, "host7": 1} {
		if got := names(host); len(got) != want {
			t.Errorf("%q: %q", host, got)
		}
	}
	if got := scan(t, dir, false, Usual); got.Portable != nil {
		t.Errorf("nobody asked for %+v", got.Portable)
	}
}

// TestLimits: what is looked at is bounded, and it is said where a bound was met.
func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(dir, fmt.Sprint(i%5), fmt.Sprint(i)), strings.Repeat("x", 1000), day)
	}
	deep := t.TempDir()
	write(t, filepath.Join(deep, strings.Repeat("d/", 40), "f"), "x", day)
	for _, tt := range []struct {
		name   string
		dir    string
		change func(*Limits)
		says   string
		ok     func(c *Cache) bool
	}{
		{"all", dir, func(*Limits) {}, "", func(c *Cache) bool { return c.Files == 50 && c.Portable.Read == 50_000 }},
		{"files", dir, func(l *Limits) { l.Files = 20 }, "not all was looked at: too many files", func(c *Cache) bool { return c.Files > 0 && c.Files <= 20 }},
		{"bytes", dir, func(l *Limits) { l.Bytes = 5500 }, "not all was looked at: too many bytes", func(c *Cache) bool { return c.Portable.Read == 5500 }},
		{"of a file", dir, func(l *Limits) { l.Each = 10 }, "not all was read: of some files the first 10 B", func(c *Cache) bool { return c.Files == 50 && c.Portable.Read == 500 }},
		{"time", dir, func(l *Limits) { l.Time = -time.Second }, "not all was looked at: it took longer", func(c *Cache) bool { return c.Files == 0 }},
		{"deep", deep, func(*Limits) {}, "not all was looked at: directories deeper", func(c *Cache) bool { return c.Files == 0 }},
	} {
		l := Usual
		l.Time = time.Hour
		tt.change(&l)
		c := scan(t, tt.dir, true, l)
		if !strings.HasPrefix(c.Error, tt.says) || tt.says == "" && c.Error != "" || !tt.ok(c) {
			t.Errorf("%s: %+v, %+v", tt.name, c, c.Portable)
		}
	}
}

// TestText: hostile names do nothing to a terminal.
func TestText(t *testing.T) {
	t.Parallel()
	r := &Report{Caches: []Cache{{
		Tool: "pocl", Dir: "/x\x1b[31m\n/y", By: "POCL_CACHE_DIR", Files: 3, Bytes: 2048, Links: 1, Oldest: day, Newest: day,
		Portable: &Portable{Looked: 3, Paths: 2, Hosts: 1, Texts: []string{"/a/\x1b]0;b\x07"}}, Error: "bad\r",
	}}, Absent: []string{"neo"}}
	var b bytes.Buffer
	r.WriteText(&b, day.Add(2*time.Hour))
	if strings.ContainsAny(b.String(), "\x1b\x07\r") || strings.Count(b.String(), "\n") != 7 {
		t.Errorf("%q", b.String())
	}
	for _, want := range []string{"(POCL_CACHE_DIR)", "1 link not followed", "of 3 files 2 with paths, 1 with the name of this machine", "nothing is here of neo"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in %s", want, b.String())
		}
	}
}

// TestDocument: docs/SCAN.md has each rule, with its source.
func TestDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../docs/SCAN.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "| `"+r.Tool+"` |") {
				if !strings.Contains(line, r.Keeps) || !strings.Contains(line, r.Source) {
					t.Errorf("%s is another one in the document: %s", r.Tool, line)
				}
				r.Tool = ""
			}
		}
		if r.Tool != "" {
			t.Errorf("%s is not in the document", r.Tool)
		}
	}
}
