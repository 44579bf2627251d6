package deps

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps/internal/files"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/ownmounts"
	"github.com/kernstash/kernstash/key"
	"golang.org/x/sys/unix"
)

// An image that is made anew at a fixed time shows the same stamps for other files.
func TestAnImageMadeAnew(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "mksquashfs", "squashfs-tools")
	if !ownmounts.Here(t) {
		return
	}
	dir := t.TempDir()
	at, image := filepath.Join(dir, "at"), filepath.Join(dir, "image")
	mount := func(content string) {
		t.Helper()
		write(t, filepath.Join(dir, "tree/inc/a.h"), content)
		make := exec.Command("mksquashfs", filepath.Join(dir, "tree"), image, "-noappend", "-quiet", "-no-progress", "-all-root")
		make.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1600000000")
		if out, err := make.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		// mount(8) finds a loop device, and lets go of it with the file system.
		if out, err := exec.Command("mount", "-t", "squashfs", "-o", "loop,ro", image, at).CombinedOutput(); err != nil {
			t.Skipf("no squashfs here: %v: %s", err, out)
		}
	}
	unmount := func() {
		t.Helper()
		err := unix.Unmount(at, 0)
		for begun := time.Now(); errors.Is(err, unix.EBUSY) && time.Since(begun) < time.Minute; err = unix.Unmount(at, 0) {
			time.Sleep(10 * time.Millisecond) // a file may be being closed just now
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mount("int one;")
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include <a.h>\n")}
	tr, r := Track(u, []string{"-I" + at + "/inc"}, Search{Dir: dir, Main: dir})
	if !r.None() {
		t.Fatal(r)
	}
	_, before, err := files.OS.Look(at + "/inc/a.h")
	if err != nil {
		t.Fatal(err)
	}
	if _, renewed, changed := check(tr.Manifest, files.OS, u); renewed || changed != "" {
		t.Errorf("renewed %v, changed %q", renewed, changed)
	}
	unmount()
	mount("int two;")
	defer unmount()
	if _, after, err := files.OS.Look(at + "/inc/a.h"); err != nil || after != before {
		t.Skipf("the stamps differ here, %+v and %+v: %v", before, after, err)
	}
	if _, _, changed := check(tr.Manifest, files.OS, u); changed != at+"/inc/a.h" {
		t.Errorf("changed %q; the header is another one", changed)
	}
}
