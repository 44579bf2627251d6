package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestRemoveLeft: what a run left that was killed goes, and nothing else.
func TestRemoveLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	file := func(name string, at time.Time) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("kernstash-run-1", old)
	file("kernstash-run-2", time.Now())
	file("kernstash-run-x", old)
	file("kernstash-runs", old)
	held, err := os.OpenFile(file("kernstash-run-3", old), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	hold(held)
	if err := os.Mkdir(filepath.Join(dir, "kernstash-run-4"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file("kernstash-run-x5", old), filepath.Join(dir, "kernstash-run-5")); err != nil {
		t.Fatal(err)
	}
	want := []string{"kernstash-run-2", "kernstash-run-3", "kernstash-run-4", "kernstash-run-5", "kernstash-run-x", "kernstash-run-x5", "kernstash-runs"}
	if os.Geteuid() == 0 { // only root can give files away
		if err := os.Chown(file("kernstash-run-6", old), 1234, -1); err != nil {
			t.Fatal(err)
		}
		want = slices.Insert(want, 4, "kernstash-run-6")
	}
	late := func() bool { return true }
	removeLeft(dir, time.Hour, late)
	if names := left(t, dir); len(names) != len(want)+1 {
		t.Errorf("when it is too late: %v", names)
	}
	removeLeft(dir, time.Hour, func() bool { return false })
	if names := left(t, dir); !slices.Equal(names, want) {
		t.Errorf("left: %v, want %v", names, want)
	}
	removeLeft(filepath.Join(dir, "nowhere"), time.Hour, func() bool { return false })
}

func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// TestNewReportIsHeld: nobody takes the report of a run that has been quiet for long.
func TestNewReportIsHeld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := newReport([]string{"XDG_RUNTIME_DIR=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	removeLeft(dir, -time.Second, func() bool { return false })
	if names := left(t, dir); len(names) != 1 {
		t.Fatalf("of a run that listens: %v", names)
	}
	f.Close() // as when it is killed
	removeLeft(dir, -time.Second, func() bool { return false })
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("of a run that has ended: %v", names)
	}
}
