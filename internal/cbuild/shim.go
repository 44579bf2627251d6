package cbuild

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/kernstash/kernstash/internal/timing"
)

// sanitizers returns the targets of the shims' Makefiles that build into folders of their
// names. As the race detector they are for the long tests.
func sanitizers() []string {
	if !timing.IsLong() {
		return nil
	}
	return []string{"asan", "tsan"}
}

// Shim puts builds of shim/SHIM, whose file is called name, into the folder out: the one
// that is installed, and for long tests (package timing), below out in the folders asan and
// tsan, those with sanitizers.
// As Library does it compiles once for all packages where nothing has changed.
func Shim(shim, name, out string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	dependOn(filepath.Join(root, "shim"))
	err = sharedShim(root, shim, name, out)
	if errors.Is(err, errAlone) {
		err = makeShim(root, shim, out, append([]string{"all"}, sanitizers()...)...)
	}
	return err
}

// Command puts the command kernstash into the file out. As Library does it is built once for
// all packages where nothing has changed.
func Command(out string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	in, err := forAll(root)
	if err != nil {
		return goBuild(root, out)
	}
	unlock, err := locked(in, "lock-command")
	if err != nil {
		return goBuild(root, out)
	}
	defer unlock()
	shared := filepath.Join(in, "kernstash")
	if err := goBuild(root, shared); err != nil {
		return err
	}
	if log, err := exec.Command("cp", shared, out).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the command: %w\n%s", err, log)
	}
	return nil
}

// goBuild builds the command into a file. The go command does nothing where that is up to date.
func goBuild(root, out string) error {
	cmd := exec.Command("go", "build", "-o", out, "./cmd/kernstash")
	cmd.Dir = root
	if log, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, log)
	}
	return nil
}

// makeShim makes targets of a shim. The compiler is each one's own, so that the machine's
// processors are used.
func makeShim(root, shim, out string, targets ...string) error {
	args := append([]string{"-s", "-j2", "-C", filepath.Join(root, "shim", shim), "OUT=" + out}, targets...)
	if log, err := exec.Command("make", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the shim %s: %w\n%s", shim, err, log)
	}
	return nil
}
