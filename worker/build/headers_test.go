//go:build linux && !nogpu

package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/spool"
)

// write makes the files of a project.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
}

const withHeaders = "#include \"own.h\"\n#include <common/math.h>\n#include \"passed/./../up.h\"\n" +
	"#include <../beside.h>\n#include <by/../three.h>\n" + source

// TestRecordedHeaders: what was recorded is built, not what the user's files are
// by now, or that they are gone.
func TestRecordedHeaders(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	files := map[string]string{
		"own.h": "#define OWN 1\n", "inc/common/math.h": "#include \"../other/more.h\"\n", "inc/other/more.h": "#define MORE 2\n",
		"abs/x.h": "", "passed/no.txt": "", "up.h": "#define UP 1\n", "hollow/no.txt": "", "beside.h": "#define BESIDE 1\n",
		"gone/no.txt": "", "late/three.h": "#define THREE 3\n", "late/by/no.txt": "",
	}
	write(t, project, files)
	q := request{
		Root: newDir(t), Source: withHeaders, Local: 64, Global: 256, Spool: true,
		Options: "-Iinc -I " + project + "/abs -DN=2 -Ihollow -Igone/../late",
	}
	a := startIn(t, project, q)
	for name := range files {
		must(t, os.WriteFile(filepath.Join(project, name), []byte("#error not this one\n"), 0o600))
	}
	s := open(t, q.Root)
	if st := work(t, options(t, s, "builder")); st.Done != 1 {
		t.Fatalf("%+v", st)
	}
	e, err := s.Get(bg, a.Key)
	must(t, err)
	if len(e.Artifact.Variants) != 1 {
		t.Errorf("variants %v", e.Artifact.Variants)
	}
	write(t, project, files)
	q.Spool = false
	isWarm(t, a, startIn(t, project, q))
}

// TestHeadersByPath: where the source names a path the user's files are read, if
// they are what they were.
func TestHeadersByPath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		source string
		option string
		change string
		state  string
		reason string
	}{
		{"as it was", "#include \"DIR/own.h\"\n", "", "", "stored", ""},
		{"by a macro", "#define S(x) #x\n#define E(x) S(x)\n#include E(PLACE/own.h)\n", "", "", "stored", ""},
		{"paths in debug information", "#include \"own.h\"\n", "-g ", "", "stored", ""},
		{"the directory in debug information", "", "-g ", "", "stored", ""},
		{"changed", "#include \"DIR/own.h\"\n", "", "#define OWN 2\n", "refused", "here it has another key: its source or a header file differs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.name == "by a macro" || tt.name == "paths in debug information" {
				timing.Long(t)
			}
			project := t.TempDir()
			write(t, project, map[string]string{"own.h": "#define OWN 1\n"})
			q := request{
				Root: newDir(t), Source: strings.ReplaceAll(tt.source, "DIR", project) + source,
				Local: 64, Global: 256, Spool: true, Options: tt.option + "-DPLACE=" + project,
			}
			a := startIn(t, project, q)
			if tt.change != "" {
				write(t, project, map[string]string{"own.h": tt.change})
			}
			s := open(t, q.Root)
			st := work(t, options(t, s, "builder"))
			if len(st.Last) != 1 || st.Last[0].State != tt.state || st.Last[0].Reason != tt.reason {
				t.Fatalf("%+v", st)
			}
			if _, err := s.Get(bg, a.Key); (err == nil) != (tt.state == "stored") {
				t.Errorf("stored: %v", err)
			}
			if left, err := os.ReadDir(project); err != nil || len(left) != 1 {
				t.Errorf("in the user's directory: %v, %v", left, err)
			}
		})
	}
}

// TestHeadersThatAreLost: neither recorded nor where they were.
func TestHeadersThatAreLost(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	write(t, project, map[string]string{"own.h": "#define OWN 1\n"})
	q := request{Root: newDir(t), Source: "#include \"own.h\"\n" + source, Local: 64, Global: 256, Spool: true}
	startIn(t, project, q)
	must(t, os.RemoveAll(project))
	must(t, os.RemoveAll(filepath.Join(q.Root, ".meta/headers")))
	s := open(t, q.Root)
	st := work(t, options(t, s, "builder"))
	if len(st.Last) != 1 || st.Last[0].State != "refused" || !strings.HasPrefix(st.Last[0].Reason, "not possible with recorded header files: ") {
		t.Errorf("%+v", st)
	}
	if jobs, err := spool.List(bg, s); err != nil || len(jobs) > 0 {
		t.Errorf("left: %v, %v", jobs, err)
	}
}
