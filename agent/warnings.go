package agent

import (
	"log/slog"
	"sync"
	"time"
)

// What clients can have said in the log.
const (
	mostWarnings = 20
	warningsFor  = time.Minute
)

// warnings passes on what clients have said in the log, as long as it is not much. Its zero value is ready.
type warnings struct {
	mu    sync.Mutex
	began time.Time
	said  int
}

func (w *warnings) warn(log *slog.Logger, what string, about ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.began) >= warningsFor {
		if left := w.said - mostWarnings; left > 0 {
			log.Warn("more of the kind was left out", "warnings", left)
		}
		w.began, w.said = now, 0
	}
	if w.said++; w.said <= mostWarnings {
		log.Warn(what, about...)
	}
}
