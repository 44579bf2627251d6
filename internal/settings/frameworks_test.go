package settings

import "testing"

func TestFrameworks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "default", "default": "default", "NONE": "none", "all": "all", "jax": "jax", "jax, DPCPP": "jax,dpcpp",
		"default,comgr": "default,comgr",
		"off":           "error", "jax,": "error", "jax,none": "error", "all,jax": "error", "torch": "error", "1": "error",
	} {
		s, err := Load(Inputs{Environ: []string{"KERNSTASH_FRAMEWORKS=" + text}})
		got := s.Frameworks
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestUnusableFrameworks: what may have meant none means none.
func TestUnusableFrameworks(t *testing.T) {
	t.Parallel()
	for _, kv := range []string{"KERNSTASH_FRAMEWORKS=off", "KERNSTASH_FRAMEWORK=none", "KERNSTASH_FRAMEWORKS_MAX_SIZE=little"} {
		s, err := Load(Inputs{Environ: []string{kv}, Lenient: true})
		if err != nil || s.Frameworks != FrameworksNone || s.Disable || !s.Writable() || len(s.Unsaid()) != 1 {
			t.Errorf("%s: frameworks %s, disable %v, %v, %v", kv, s.Frameworks, s.Disable, s.Warnings, err)
		}
	}
}
