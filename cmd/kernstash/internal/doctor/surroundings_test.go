package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/session"
)

// compareFindings wants findings of these verdicts that begin so.
func compareFindings(t *testing.T, name string, r *Report, want []string) {
	t.Helper()
	var got []string
	for i, f := range r.Findings {
		text := string(f.Verdict) + " " + f.Text
		if i < len(want) && strings.HasPrefix(text, want[i]) {
			text = want[i]
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func TestSessionIsTold(t *testing.T) {
	dir := t.TempDir()
	layer := filepath.Join(dir, "a $place, \"named\" it's", "libkernstash_opencl_layer.so")
	if err := os.Mkdir(filepath.Dir(layer), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(layer, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "50-kernstash.conf")
	tell := func(name string, want ...string) {
		t.Helper()
		r := &Report{OK: true}
		r.checkSession(path)
		compareFindings(t, name, r, want)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	enabled := func(layer string) {
		write(session.Mark + "\nKERNSTASH_INJECT=layer\nOPENCL_LAYERS=" + session.Escape(layer) + "${OPENCL_LAYERS:+:$OPENCL_LAYERS}\n")
	}
	t.Setenv("OPENCL_LAYERS", "")
	tell("nothing", "info they have the cache under 'kernstash run'")
	write("MINE=1\n")
	tell("another's", "warning "+path+" is not of 'kernstash enable'")
	write(session.Mark + "\nKERNSTASH_DISABLE=1\n")
	tell("off", "info "+path+" switches the cache off for the session")
	write(session.Mark + "\n")
	tell("empty", "warning "+path+" names no library of ours")
	enabled("/no/such/libkernstash_opencl_layer.so")
	tell("gone", "warning "+path+" names /no/such/libkernstash_opencl_layer.so, which is not there")
	enabled(layer)
	tell("not yet", "ok the cache is on for the session ("+path+")", "info this environment has not what "+path+" says")
	t.Setenv("OPENCL_LAYERS", "/other.so:"+layer)
	tell("on", "ok the cache is on for the session ("+path+")")
	values, err := session.ReadVariables(path)
	if err != nil || values["OPENCL_LAYERS"] != layer {
		t.Errorf("%v, %v", values, err)
	}
}
