package compile_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/internal/timing"
)

var lines = flag.Int("lines", 0, "random command lines of ptxas; 0: 25, 150 with KERNSTASH_TEST_LONG, 450 where that is all")

// TestRandomPTXAS: of any command line ptxas makes and says the same with the cache, and again where
// it may be found. All lines share a cache, so what one has kept must not be taken for another's.
func TestRandomPTXAS(t *testing.T) {
	t.Parallel()
	tool := ptxas(t)
	n, from := *lines, timing.Seed(t)
	if n == 0 {
		n = timing.Cases(25, 150, 450)
	}
	help := newPlace(t).plain(tool, "--help").Stdout
	known := func(options [][]string) [][]string {
		return slices.DeleteFunc(slices.Clone(options), func(names []string) bool { return !strings.Contains(help, names[0]+" ") })
	}
	valued, flags := known(compile.PTXASOptions.Valued), known(compile.PTXASOptions.Flags)
	r := rand.New(rand.NewPCG(from, 0))
	p := newPlace(t)
	if err := os.Mkdir(filepath.Join(p.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("d/k.ptx", strings.Replace(kernel, "%r1, 1", "%r1, 2", 1))
	p.write("named.ptx", strings.Replace(strings.Replace(kernel, ".visible", ".file 1 \"h.cu\"\n.visible", 1), "ld.param", ".loc 1 3 1\nld.param", 1))
	p.write("h.cu", "// 1")
	p.write("old.ptx", strings.NewReplacer("sm_80", "sm_60", "7.0", "6.0", "ret;", "shfl.down.b32 %r2, %r1, 1, 31;\n\tret;").Replace(kernel))
	p.write("bad.ptx", strings.Replace(kernel, "add.s32", "add.s33", 1))
	served := 0
	for i := range n {
		line := randomLine(r, valued, flags)
		want := masked(p.plain(append([]string{tool}, line...)...))
		made := p.taken("out")
		for range 2 {
			got := masked(p.served(append([]string{tool}, line...)...))
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("line %d, %q (-want +got):\n%s", i, line, d)
			}
			if now := p.taken("out"); now != made {
				t.Fatalf("line %d, %q: %d bytes of output, not the %d of ptxas", i, line, len(now), len(made))
			}
		}
		if want.Status == 0 && made != "" {
			served++
		}
	}
	compiled, found := p.counts()
	t.Logf("%d of %d lines make something; %d compiled, %d found", served, n, compiled, found)
	if found == 0 || n >= 100 && found < int64(served)/2 {
		t.Errorf("%d found of %d that make something", found, served)
	}
}

// temporary is a file of ptxas, which its messages name where it reads standard input.
var temporary = regexp.MustCompile(`tmpxft_[0-9a-f]{8}`)

func masked(r ran) ran {
	r.Messages = temporary.ReplaceAllString(r.Messages, "tmpxft")
	return r
}

// taken returns what is in a file and removes it; "" if there is none.
func (p *place) taken(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err == nil {
		err = os.Remove(filepath.Join(p.dir, name))
	}
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return string(b)
}

// randomLine returns arguments for ptxas, of which most make sense.
func randomLine(r *rand.Rand, valued, flags [][]string) (line []string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	values := map[string][]string{
		"--opt-level": {"0", "1", "2", "3", "7"}, "--machine": {"64", "32"}, "--def-load-cache": {"ca", "cg", "cs"},
		"--def-store-cache": {"wb", "wt"}, "--entry": {"add", "none"}, "--force-load-cache": {"ca", "cg"},
		"--force-store-cache": {"wb", "cg"}, "--maxrregcount": {"16", "32", "255", "4096"}, "--maxntid": {"64", "128", "32,2"},
		"--device-function-maxrregcount": {"16", "32"}, "--minnctapersm": {"1", "2"}, "--register-usage-level": {"0", "5", "10", "11"},
		"--gpu-name": {"sm_86", "sm_90"},
	}
	for range r.IntN(5) {
		switch r.IntN(30) {
		case 0:
			line = append(line, pick("--frobnicate", "-O", "-O1", "-O2", "-m64", "-m32", "", "-", "--", "-c=1", "-vw", "--opt-level=", "=3"))
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13:
			line = append(line, pick(flags[r.IntN(len(flags))]...))
		default:
			names := valued[r.IntN(len(valued))]
			if names[0] == "--output-file" {
				continue
			}
			value := pick("true", "false", "true", "false", "true", "false", "1", "", "x")
			if of := values[names[0]]; of != nil && r.IntN(10) > 0 {
				value = pick(of...)
			}
			if name := pick(names...); r.IntN(2) == 0 {
				line = append(line, name+"="+value)
			} else {
				line = append(line, name, value)
			}
		}
	}
	at := func(words ...string) { line = slices.Insert(line, r.IntN(len(line)+1), words...) }
	if r.IntN(20) > 0 {
		at(pick("-arch=sm_80", "-arch=sm_80", "-arch=sm_80", "--gpu-name=sm_86", "-arch=sm_60", "-arch=compute_80", "-arch"))
	}
	for range 1 + r.IntN(30)/29 {
		at(pick("k.ptx", "k.ptx", "d/k.ptx", "./k.ptx", "named.ptx", "named.ptx", "old.ptx", "bad.ptx", "h.cu"))
	}
	for range 1 + r.IntN(30)/29 {
		line = append(line, "-o", "out")
	}
	return line
}
