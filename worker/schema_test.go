package worker

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// TestJobOfAnotherKeySchema: a worker leaves it to that of the version that made it.
func TestJobOfAnotherKeySchema(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	s := disk.New(disk.Options{Dir: dir})
	defer s.Close()
	img, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	must(t, err)
	r := &key.Recipe{Device: key.Device{API: "opencl", Platform: "p", Name: "d"}, Image: img}
	_, err = spool.Add(t.Context(), s, spool.Job{
		Kind: spool.Capture, Recipe: r, Created: time.Now(), Variants: []string{"k/1"}, Environment: spool.Take(nil, r, "/"),
	}, nil)
	must(t, err)
	jobs, err := spool.List(t.Context(), s)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}

	path := filepath.Join(dir, ".meta", "spool", jobs[0].Environment, jobs[0].Name)
	b, err := os.ReadFile(path)
	must(t, err)
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	_, recipe, _ := bytes.Cut(rest, []byte("kernstash recipe\x00"))
	recipe[1] = key.Schema - 1 // behind a byte for the type, the least of eight
	words := bytes.Split(line, []byte(" "))
	words[4] = fmt.Appendf(nil, "%08x", crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)))
	must(t, os.WriteFile(path, append(append(bytes.Join(words, []byte(" ")), '\n'), rest...), 0o600))

	if _, err := spool.Read(t.Context(), s, &jobs[0]); !errors.Is(err, spool.ErrVersion) {
		t.Errorf("read: %v", err)
	}
	st, err := Run(t.Context(), Options{
		Store: s, Command: []string{"/nonexistent"}, Once: true,
	})
	must(t, err)
	if _, err := os.Stat(path); err != nil || st.Kept != 1 || st.Done != 0 || st.Refused != 0 {
		t.Errorf("the job: %v; %+v", err, st)
	}
}
