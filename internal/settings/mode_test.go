package settings

import "testing"

func TestMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": ModeOn, "on": ModeOn, "Read-Only": ModeReadOnly, "refresh": ModeRefresh, "observe": ModeObserve,
		"readonly": "error", "1": ModeOn, "TRUE": ModeOn, "off": ModeOff, "no": ModeOff, "0": ModeOff,
	} {
		s, err := Load(Inputs{Environ: []string{"KERNSTASH_MODE=" + text}})
		got := s.Mode
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestOthersAreNoMistakes: a variable of ours that is no setting is no warning.
func TestOthersAreNoMistakes(t *testing.T) {
	t.Parallel()
	s, err := Load(Inputs{Environ: []string{"KERNSTASH_REPORT=/x", "KERNSTASH_INJECT=layer", "KERNSTASH_LIBDIR=/y", "KERNSTASH_SAID=x", "KERNSTASH_REPORTS=1"}})
	if err != nil || len(s.Warnings) != 1 {
		t.Errorf("%v, %v", s.Warnings, err)
	}
}
