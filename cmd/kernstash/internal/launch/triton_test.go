package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTriton(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(parts ...string) {
		t.Helper()
		path := filepath.Join(append([]string{root}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("installed", "lib", "kernstash", "python", "kernstash", "triton.py")
	write("tree", "python", "kernstash", "triton.py")
	write("co:lon", "python", "kernstash", "triton.py")
	const manager = "TRITON_CACHE_MANAGER=kernstash.triton:CacheManager"
	installed, tree := filepath.Join(root, "installed", "lib", "kernstash"), filepath.Join(root, "tree", "lib")
	for name, tt := range map[string]struct {
		libraries string
		env       []string
		python    string // PYTHONPATH; "": an error
		err       string // a part of it
	}{
		"installed": {installed, nil, filepath.Join(installed, "python"), ""},
		"tree":      {tree, nil, filepath.Join(root, "tree", "python"), ""},
		"kept":      {tree, []string{"PYTHONPATH=/a:/b"}, "/a:/b:" + filepath.Join(root, "tree", "python"), ""},
		"again":     {installed, []string{"PYTHONPATH=" + filepath.Join(installed, "python"), manager}, filepath.Join(installed, "python"), ""},
		"empty":     {tree, []string{"TRITON_CACHE_MANAGER=", "PYTHONPATH="}, filepath.Join(root, "tree", "python"), ""},
		"another":   {tree, []string{"TRITON_CACHE_MANAGER=mine:Manager"}, "", "TRITON_CACHE_MANAGER=mine:Manager is left alone"},
		"nowhere":   {filepath.Join(root, "none", "lib"), nil, "", "kernstash/triton.py is in none of "},
		"colon":     {filepath.Join(root, "co:lon", "lib"), nil, "", "PYTHONPATH takes no path with a colon"},
	} {
		got, err := Libraries{Layer: filepath.Join(tt.libraries, "layer.so")}.Triton(tt.env)
		var want []Variable
		if tt.err == "" {
			want = []Variable{{"PYTHONPATH", tt.python}, {"TRITON_CACHE_MANAGER", "kernstash.triton:CacheManager"}}
		}
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, variables (-want +got):\n%s", name, err, diff)
		}
	}
}
