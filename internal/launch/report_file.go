package launch

import (
	"io"
	"os"

	"github.com/kernstash/kernstash/internal/runlog"
)

// newReport makes the file that the processes under the run append to, for this
// user alone, where there is room for such.
func newReport(env []string) (*os.File, error) {
	const pattern = "kernstash-run-*"
	if dir := environ(env).get("XDG_RUNTIME_DIR"); dir != "" {
		if f, err := os.CreateTemp(dir, pattern); err == nil {
			return f, nil
		}
	}
	return os.CreateTemp("", pattern)
}

// takeReport reads the file and removes it; outer is the file of a run that this
// one runs in, which is told everything too.
func takeReport(f *os.File, outer string) *runlog.Summary {
	defer f.Close()
	_ = os.Remove(f.Name())
	if outer != "" {
		_ = runlog.At(outer).Copy(f) // nobody is there to be told of an error
		_, _ = f.Seek(0, io.SeekStart)
	}
	s, _ := runlog.Read(f) // what was read before an error is better than nothing
	return s
}
