//go:build linux

package compile_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/compile"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/store/disk"
)

// TestNVCCPassedThrough: a command line that is not sure to make one output of one input is not served.
func TestNVCCPassedThrough(t *testing.T) {
	p := newSource(t)
	t.Chdir(p.dir)
	if err := os.Mkdir("folder.cu", 0o700); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"none of -c, -cubin, -ptx, -fatbin":     {"k.cu", "-o", "program"},
		"more than one thing to make":           {"-c", "-ptx", "k.cu"},
		"not one input":                         {"-c", "k.cu", "a.cu"},
		"the input is no CUDA C++":              {"-c", "a.h"},
		"the input is no regular file":          {"-c", "folder.cu"},
		"the input is not there":                {"-c", "early.cu"},
		"option -dc":                            {"-dc", "k.cu"},
		"option -dlink":                         {"-dlink", "k.o"},
		"option --shared":                       {"--shared", "k.cu"},
		"option -lib":                           {"-lib", "k.o"},
		"option -run":                           {"-run", "k.cu"},
		"option --dryrun":                       {"--dryrun", "-c", "k.cu"},
		"option -v":                             {"-v", "-c", "k.cu"},
		"option --keep":                         {"--keep", "-c", "k.cu"},
		"option -E":                             {"-E", "k.cu"},
		"option -M":                             {"-M", "k.cu"},
		"option -G":                             {"-G", "-c", "k.cu"},
		"option --options-file":                 {"--options-file", "x", "-c", "k.cu"},
		"option -time":                          {"-time", "x", "-c", "k.cu"},
		"option --version":                      {"--version"},
		"options in a file, @x":                 {"@x", "-c", "k.cu"},
		"what a shell expands, -DX=$(date)":     {"-DX=$(date)", "-c", "k.cu"},
		"__TIME__":                              {"-DX=__TIME__", "-c", "k.cu"},
		"2 options --output-file":               {"-c", "k.cu", "-o", "a", "-o", "b"},
		"option --relocatable-device-code=true": {"-rdc=true", "-c", "k.cu"},
		"what is native here, -arch=native":     {"-arch=native", "-c", "k.cu"},
		"what is native here, -march=native":    {"-Xcompiler", "-march=native", "-c", "k.cu"},
		"option --compiler-options=-Wp,-MD,x":   {"-Xcompiler=-Wp,-MD,x", "-c", "k.cu"},
		"option --compiler-options=-save-temps": {"-Xcompiler", "-save-temps", "-c", "k.cu"},
		"option --ptxas-options=-o,x":           {"-Xptxas=-o,x", "-cubin", "k.cu"},
		"option --split-compile=0":              {"-split-compile=0", "-c", "k.cu"},
		"option --gpu-architecture=native":      {"-arch", "native", "-c", "k.cu"},
		"option -Xcicc":                         {"-Xcicc", "-x", "-cubin", "k.cu"},
		"a dependency file, and 0 options --dependency-output": {"-MD", "-c", "k.cu"},
	} {
		if err := compile.ReadNVCC(func(string) string { return "" }, args...); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	quotes := func(name string) string { return map[string]string{"NVCC_APPEND_FLAGS": `-DX="1 2"`}[name] }
	if err := compile.ReadNVCC(quotes, "-c", "k.cu"); err == nil {
		t.Error("quotes in a variable are served")
	}
}

// TestWhatIsNotKeptOfNVCC: of a run whose outcome may depend on more than is known nothing is kept.
func TestWhatIsNotKeptOfNVCC(t *testing.T) {
	t.Parallel()
	const write = `static void put(const char *p, const char *s) { FILE *f = fopen(p, "w"); fputs(s, f); fclose(f); } `
	for name, test := range map[string]struct {
		body  string
		found int64
	}{
		"nothing against it":           {`fopen("a.h", "r"); put("o", "code"); return 0;`, 1},
		"a file that it was not given": {`put("o", "code"); put("other", "x"); return 0;`, 0},
		"it lists a directory":         {`put("o", "code"); DIR *d = opendir("."); readdir(d); return 0;`, 0},
		"it looks at the machine":      {`put("o", "code"); fopen("/proc/cpuinfo", "r"); return 0;`, 0},
		"it changes what it reads":     {`fopen("a.h", "r"); put("o", "code"); put("a.h", "x"); return 0;`, 0},
		"it reads the time's macro":    {`fopen("time.h", "r"); put("o", "code"); return 0;`, 0},
		"it starts a shell":            {`put("o", "code"); return system("bash -c :");`, 1},
		"it writes to the terminal":    {`put("o", "code"); fopen("/dev/tty", "w"); return 0;`, 0},
		"it starts another":            {`put("o", "code"); return system("/bin/true");`, 0},
		"it writes to standard output": {`put("o", "code"); puts("x"); return 0;`, 0},
		"its temporary file is named":  {`put("o", "code"); fputs("tmpxft_1\n", stderr); return 0;`, 1},
		"it has no output":             {`return 0;`, 0},
		"it fails":                     {`put("o", "code"); return 3;`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			p.write("time.h", "char when[] = __TI\\\nME__;\n")
			time.Sleep(50 * time.Millisecond)
			compiler := fakeWith(t, "nvcc", "#include <dirent.h>\n#include <stdlib.h>\n#include <stdio.h>\n"+write, test.body)
			want := p.plain(compiler, "-c", "k.cu", "-o", "o")
			p.write("a.h", source["a.h"])
			time.Sleep(50 * time.Millisecond)
			p.wantServed(want, compiler, "-c", "k.cu", "-o", "o")
			p.wantFound(test.found)
		})
	}
}

// TestNVCCIsRecorded: what was compiled, why, and what was found is recorded as of any application; what is not kept has no entry.
func TestNVCCIsRecorded(t *testing.T) {
	t.Parallel()
	miss := records.Line{Kind: records.Miss, App: "nvcc", Label: "k.cu", Device: "process / nvcc", API: "compiler"}
	kept, unfit, failed := miss, miss, miss
	kept.Reason, kept.Nearest = "miss.absent", "nothing near it"
	unfit.Reason = "it wrote to standard output"
	failed.Reason = "the compiler refused it"
	for name, test := range map[string]struct {
		body string
		want []records.Line
	}{
		"kept":     {`return 0;`, []records.Line{{Kind: records.Hits, App: "nvcc", Hits: 1, Label: "k.cu"}, kept}},
		"not kept": {`puts("x"); return 0;`, []records.Line{unfit, unfit}},
		"failed":   {`return 3;`, []records.Line{failed, failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			report := filepath.Join(t.TempDir(), "report")
			if err := os.WriteFile(report, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p.env = append(p.env, runlog.Variable+"="+report)
			compiler := fakeWith(t, "nvcc", "#include <stdio.h>\n", `FILE *f = fopen("o", "w"); fputs("code", f); fclose(f); `+test.body)
			time.Sleep(50 * time.Millisecond) // so long a file has to lie unchanged
			p.served(compiler, "-c", "k.cu", "-o", "o")
			p.served(compiler, "-c", "k.cu", "-o", "o")
			for _, one := range reported(t, report) {
				nearest := ""
				if name == "kept" && one.Outcome == runlog.Compiled {
					nearest = "nothing near it"
				}
				if one.Label != "nvcc k.cu" || one.Nearest != nearest {
					t.Errorf("the report calls it %q, near it %q", one.Label, one.Nearest)
				}
			}
			d := disk.New(disk.Options{Dir: p.cache})
			defer d.Close()
			var all []records.Line
			if err := d.TakeRecords(t.Context(), func(_ string, b []byte) error {
				records.Parse(b, func(l records.Line) { all = append(all, l) })
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for i := range all {
				if kept := name == "kept"; all[i].Entry.IsZero() == kept {
					t.Errorf("an entry %v, want %v: %+v", !kept, kept, all[i])
				}
			}
			slices.SortFunc(all, func(a, b records.Line) int { return strings.Compare(a.Reason, b.Reason) })
			if d := cmp.Diff(test.want, all, cmpopts.IgnoreFields(records.Line{}, "At", "Since", "Entry", "Saved", "Cost")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestNearestOfNVCC: the report of a run says in what the nearest entry differs.
func TestNearestOfNVCC(t *testing.T) {
	t.Parallel()
	p := newSource(t)
	report := filepath.Join(t.TempDir(), "report")
	compiler := fakeWith(t, "nvcc", "#include <stdio.h>\n", `FILE *f = fopen("o", "w"); fputs("code", f); fclose(f); return 0;`)
	time.Sleep(50 * time.Millisecond) // so long a file has to lie unchanged
	p.served(compiler, "-c", "k.cu", "-o", "o")
	p.env = append(p.env, runlog.Variable+"="+report)
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.served(compiler, "-DN=2", "-c", "k.cu", "-o", "o")
	all := reported(t, report)
	if len(all) != 1 || !strings.Contains(all[0].Nearest, "-DN=2") {
		t.Errorf("%+v, want one for which -DN=2 is named", all)
	}
}

// reported returns what a file of events says was asked for, which is something.
func reported(t *testing.T, path string) []runlog.Program {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := runlog.Read(f)
	if err != nil || len(s.Programs) == 0 {
		t.Fatalf("nothing is reported: %v", err)
	}
	return s.Programs
}

// TestOutputsOfNVCC: what is in the place of an output is treated as nvcc treats it.
func TestOutputsOfNVCC(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	for name, put := range map[string]func(path string) error{
		"a link":         func(path string) error { return os.Symlink("elsewhere", path) },
		"two names":      func(path string) error { os.WriteFile(path, []byte("x"), 0o600); return os.Link(path, path+"2") },
		"read-only":      func(path string) error { return os.WriteFile(path, []byte("x"), 0o400) },
		"a program":      func(path string) error { return os.WriteFile(path, []byte("x"), 0o755) },
		"a directory":    func(path string) error { return os.Mkdir(path, 0o700) },
		"no such folder": func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+"2") },
	} {
		for _, mode := range []string{"-c", "-ptx"} {
			t.Run(name+mode, func(t *testing.T) {
				t.Parallel()
				p := newSource(t)
				args := []string{tool, host, "-Ilate", mode, "k.cu", "-o", "to/out"}
				try := func(run func(...string) ran) (r ran, all []string) {
					for _, dir := range []string{"to", "to2"} {
						os.RemoveAll(filepath.Join(p.dir, dir))
					}
					if err := os.Mkdir(filepath.Join(p.dir, "to"), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := put(filepath.Join(p.dir, "to/out")); err != nil {
						t.Fatal(err)
					}
					r = run(args...)
					r.Messages = temporaryNames.ReplaceAllString(r.Messages, "tmpxft")
					filepath.Walk(p.dir, func(path string, info os.FileInfo, err error) error {
						if rest := strings.TrimPrefix(path, p.dir+"/to"); err == nil && rest != path {
							all = append(all, fmt.Sprint(rest, info.Mode(), info.Size()))
						}
						return nil
					})
					return r, all
				}
				if err := os.Mkdir(filepath.Join(p.dir, "to"), 0o700); err != nil {
					t.Fatal(err)
				}
				if r := p.served(args...); r.Status != 0 {
					t.Fatalf("%+v", r)
				}
				want, files := try(p.plain)
				got, gotFiles := try(p.served)
				if d := cmp.Diff(want, got) + cmp.Diff(files, gotFiles); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
	}
}

// TestNVCCIsEnded: a run that was ended leaves nothing, and nobody waits for it.
func TestNVCCIsEnded(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"asked to": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			compiler := fakeWith(t, "nvcc", "#include <stdio.h>\n#include <sys/stat.h>\n#include <unistd.h>\n",
				`puts("on"); fflush(stdout); if (access("go", F_OK) != 0) pause(); FILE *f = fopen("o", "w"); fputs("code", f); return fclose(f);`)
			cmd, out := p.begun(compiler, "-c", "k.cu", "-o", "o")
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if signal != syscall.SIGKILL { // else the compiler goes on
				_, _ = io.ReadAll(out)
			}
			p.wantEnd(cmd, signal)
			p.write("go", "")
			if r := p.served(compiler, "-c", "k.cu", "-o", "o"); r.Status != 0 || p.read("o") != "code" {
				t.Errorf("%+v", r)
			}
			p.wantFound(0)
		})
	}
}

// TestNVCCAndTroubleOfTheCache: the cache's trouble is none of nvcc's.
func TestNVCCAndTroubleOfTheCache(t *testing.T) {
	t.Parallel()
	tool, host := nvcc(t)
	for name, spoil := range map[string]func(p *place) error{
		"a file in its place": func(p *place) error { return os.WriteFile(p.cache, nil, 0o600) },
		"read-only":           func(p *place) error { p.env = append(p.env, "KERNSTASH_MODE=read-only"); return nil },
		"no directory":        func(p *place) error { p.env = append(p.env, "KERNSTASH_PERSISTENT=0"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSource(t)
			if err := spoil(p); err != nil {
				t.Fatal(err)
			}
			p.wantNoTrouble(tool, host, "-ptx", "-Ilate", "k.cu", "-o", "out")
		})
	}
}

// TestEnvironmentOfNVCC: the programs that a traced compiler starts are not led to the cache.
func TestEnvironmentOfNVCC(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ environ, want []string }{
		"nothing of ours":       {[]string{"A=1", "LD_PRELOAD=/x.so /y.so"}, []string{"A=1", "LD_PRELOAD=/x.so /y.so"}},
		"ours alone":            {[]string{"KERNSTASH_COMMAND=/k", "LD_PRELOAD=/d/" + launch.Preload, "A=1"}, []string{"A=1"}},
		"both of ours":          {[]string{"LD_PRELOAD=/d/" + runtimes.Layers().Library + ":/d/" + launch.Preload}, nil},
		"ours beside another's": {[]string{"LD_PRELOAD=/d/" + launch.Preload + ":/x.so /y.so"}, []string{"LD_PRELOAD=/x.so:/y.so"}},
	} {
		if d := cmp.Diff(test.want, compile.Plain(test.environ)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
