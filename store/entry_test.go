package store

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/reason"
)

func TestBetter(t *testing.T) {
	t.Parallel()
	artifact := func(f Form, variants ...string) *Artifact {
		return &Artifact{Binaries: []Binary{{f, []byte("x")}}, Variants: variants}
	}
	none := &Artifact{}
	tests := []struct {
		name string
		a, b *Artifact
		want bool
	}{
		{"equal", artifact(FormFinal), artifact(FormFinal), false},
		{"final over intermediate", artifact(FormFinal), artifact(FormIntermediate), true},
		{"intermediate over final", artifact(FormIntermediate), artifact(FormFinal), false},
		{"more launches", artifact(FormDeferred, "a", "b"), artifact(FormDeferred, "a"), true},
		{"fewer launches", artifact(FormDeferred, "a"), artifact(FormDeferred, "a", "b"), false},
		{"more, but not all of the other's", artifact(FormDeferred, "a", "b"), artifact(FormDeferred, "c"), false},
		{"as many others", artifact(FormDeferred, "a"), artifact(FormDeferred, "b"), false},
		{"first launches", artifact(FormDeferred, "a"), artifact(FormDeferred), true},
		{"something over nothing", artifact(FormFinal), none, true},
		{"nothing over something", none, artifact(FormFinal), false},
	}
	for _, tt := range tests {
		if got := tt.a.Better(tt.b); got != tt.want {
			t.Errorf("%s: Better = %v", tt.name, got)
		}
	}
}

func TestMissError(t *testing.T) {
	t.Parallel()
	var err error = &MissError{Reason: reason.MissUnreadable, Cause: fs.ErrPermission}
	var miss *MissError
	if !errors.Is(err, ErrNotFound) || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &miss) {
		t.Errorf("%v wraps not what it should", err)
	}
	if !strings.Contains(err.Error(), "not in the cache") || !strings.Contains((&MissError{Reason: reason.MissAbsent}).Error(), "miss.absent") {
		t.Errorf("texts: %v", err)
	}
}
