package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

func TestCheckFileSystem(t *testing.T) {
	t.Parallel()
	r := &Report{OK: true}
	r.checkFileSystem("root", t.TempDir()+"/not/there/yet")
	if len(r.Findings) == 0 || !r.OK {
		t.Errorf("%+v", r)
	}
}

// TestCheckLayers: doctor tells of each directory of a layer that others may write, wherever it is.
func TestCheckLayers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes of directories are no matter there")
	}
	dir := filepath.Join(t.TempDir(), "layer")
	d := disk.New(disk.Options{Dir: dir})
	t.Cleanup(func() { d.Close() })
	location := ""
	for i := range 3 {
		image, err := key.NewImage(key.OpenCLC, fmt.Append(nil, "kernel void k() {} // ", i))
		if err != nil {
			t.Fatal(err)
		}
		recipe := &key.Recipe{Image: image, Device: key.Device{API: "opencl", Platform: "P", Name: "D", Version: "3.0", Driver: "1"}}
		if _, err := d.Put(t.Context(), &store.Entry{Key: recipe.Key(), Recipe: recipe, Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: []byte("code")}}, Created: time.Now(),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for info, err := range d.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		location = filepath.Dir(info.Location)
	}
	s, err := settings.Load(settings.Inputs{Environ: []string{"KERNSTASH_LAYERS=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Dir(location)
	for _, test := range []struct {
		opened []string
		mark   tool.Verdict
		text   string
	}{
		{nil, tool.OK, "3 entries"},
		{[]string{location}, tool.Warn, "3 entries; others may write 1 directory below it, the first is " + filepath.ToSlash(location) + " (mode 0777, "},
		{[]string{location, parent}, tool.Warn, "3 entries; others may write 2 directories below it, the first is " + filepath.ToSlash(parent) + " (mode 0777, "},
	} {
		for _, sub := range test.opened {
			if err := os.Chmod(filepath.Join(dir, sub), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		r := &Report{OK: true}
		r.checkLayers(t.Context(), s)
		if len(r.Findings) != 1 || r.Findings[0].Verdict != test.mark || !strings.HasPrefix(r.Findings[0].Text, test.text) {
			t.Errorf("%v: %+v", test.opened, r.Findings)
		}
		if test.mark == tool.Warn && !strings.Contains(r.Findings[0].Advice, "chmod -R go-w "+dir) {
			t.Errorf("%v: %q", test.opened, r.Findings[0].Advice)
		}
	}
}
