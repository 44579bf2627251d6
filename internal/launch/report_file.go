package launch

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kernstash/kernstash/internal/runlog"
)

// newReport makes the file that the processes under the run append to, for this
// user alone, where there is room for such.
func newReport(env []string) (*os.File, error) {
	f, err := os.CreateTemp(environ(env).get("XDG_RUNTIME_DIR"), reportPrefix+"*")
	if err != nil {
		f, err = os.CreateTemp("", reportPrefix+"*")
	}
	if err == nil {
		hold(f)
	}
	return f, err
}

// reportPrefix begins the names of reports; what follows are digits.
const reportPrefix = "kernstash-run-"

// A run that was killed leaves its report behind. One that lasts longer than cleanAfter
// looks for those beside its own while it waits, and removes what is older than leftAge.
const (
	cleanAfter = 100 * time.Millisecond
	leftAge    = time.Hour
)

// cleanReports removes what killed runs left beside a report, after a while, unless the
// channel is closed before.
func cleanReports(report string, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(cleanAfter):
		removeLeft(filepath.Dir(report), leftAge, func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
	}
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
