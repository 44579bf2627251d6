package settings

import (
	"errors"
	"testing"
)

func TestWorkerSetting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"off": WorkerOff, "Inline": WorkerInline, "auto": WorkerAuto} {
		s, err := Load(Inputs{Environ: []string{"KERNSTASH_WORKER=" + text}})
		if err != nil || s.Worker != want || s.Origin("worker").Source != Environment {
			t.Errorf("%s: %q by %v, %v", text, s.Worker, s.Origin("worker"), err)
		}
	}
	var bad *Error
	if _, err := Load(Inputs{Environ: []string{"KERNSTASH_WORKER=1"}}); !errors.As(err, &bad) || bad.Name != "KERNSTASH_WORKER" {
		t.Errorf("1: %v", err)
	}
}
