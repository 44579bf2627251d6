package bundles

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/bundle"
)

// TestHarvests: where the caches of tools are, by their variables and by default, and what points to them then.
func TestHarvests(t *testing.T) {
	jax := []bundle.Variable{
		{Name: "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", Value: "0"},
		{Name: "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", Value: "-1"},
		{Name: "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", Value: "none"},
		{Name: "JAX_COMPILATION_CACHE_DIR"},
	}
	one := func(name string) []bundle.Variable { return []bundle.Variable{{Name: name}} }
	for name, test := range map[string]struct {
		env   map[string]string
		words []string
		want  []bundle.Harvest // nil: a mistake
	}{
		"by default": {words: []string{"triton", "inductor", "cupy", "jax"}, want: []bundle.Harvest{
			{Name: "triton", Tool: "triton", From: "/h/.triton/cache", Below: ".triton/cache", Variables: one("TRITON_HOME")},
			{Name: "inductor", Tool: "inductor", From: "/tmp/torchinductor_a_b", Variables: one("TORCHINDUCTOR_CACHE_DIR")},
			{Name: "cupy", Tool: "cupy", From: "/h/.cupy/kernel_cache", Variables: one("CUPY_CACHE_DIR")},
			{Name: "jax", Tool: "jax", From: "/root/.meta/frameworks/jax", Variables: jax},
		}},
		"by variables": {
			env:   map[string]string{"TRITON_CACHE_DIR": "/t", "TORCHINDUCTOR_CACHE_DIR": "/i", "CUPY_CACHE_DIR": "/c", "JAX_COMPILATION_CACHE_DIR": "/j"},
			words: []string{"triton", "inductor", "cupy", "jax"}, want: []bundle.Harvest{
				{Name: "triton", Tool: "triton", From: "/t", Variables: one("TRITON_CACHE_DIR")},
				{Name: "inductor", Tool: "inductor", From: "/i", Variables: one("TORCHINDUCTOR_CACHE_DIR")},
				{Name: "cupy", Tool: "cupy", From: "/c", Variables: one("CUPY_CACHE_DIR")},
				{Name: "jax", Tool: "jax", From: "/j", Variables: jax},
			},
		},
		"TRITON_HOME, TMPDIR": {
			env: map[string]string{"TRITON_HOME": "/t", "TMPDIR": "/scratch"}, words: []string{"triton", "inductor"}, want: []bundle.Harvest{
				{Name: "triton", Tool: "triton", From: "/t/.triton/cache", Below: ".triton/cache", Variables: one("TRITON_HOME")},
				{Name: "inductor", Tool: "inductor", From: "/scratch/torchinductor_a_b", Variables: one("TORCHINDUCTOR_CACHE_DIR")},
			},
		},
		"directories": {
			env:   map[string]string{"TRITON_CACHE_DIR": "/not"},
			words: []string{"triton=/t", "POCL_CACHE_DIR=/p", "own=/o"}, want: []bundle.Harvest{
				{Name: "triton", Tool: "triton", From: "/t", Variables: one("TRITON_CACHE_DIR")},
				{Name: "POCL_CACHE_DIR", From: "/p", Variables: one("POCL_CACHE_DIR")},
				{Name: "own", From: "/o"},
			},
		},
		"unknown":           {words: []string{"pocl"}},
		"no directory":      {words: []string{"pocl="}},
		"no name":           {words: []string{"=/p"}},
		"not a name":        {words: []string{"../x=/p"}},
		"twice":             {words: []string{"triton", "triton=/t"}},
		"a bucket of JAX's": {env: map[string]string{"JAX_COMPILATION_CACHE_DIR": "gs://b/c"}, words: []string{"jax"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{
				"TRITON_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUPY_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "TMPDIR", "TEMP", "TMP",
			} {
				t.Setenv(name, test.env[name])
			}
			t.Setenv("HOME", "/h")
			t.Setenv("LOGNAME", "a:b")
			got, err := harvests(test.words, "/root")
			if (err == nil) != (test.want != nil) {
				t.Errorf("error %v", err)
			}
			if d := cmp.Diff(test.want, got); err == nil && d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestUnset: what the user has set of a cache leaves all of that cache alone.
func TestUnset(t *testing.T) {
	t.Parallel()
	c := Copy{
		Caches: []bundle.Harvest{
			{Name: "a", Variables: []bundle.Variable{{Name: "A"}, {Name: "A_TIME", Value: "0"}}},
			{Name: "b", Variables: []bundle.Variable{{Name: "B"}}},
		},
		Variables: []bundle.Variable{{Name: "KERNSTASH_LAYERS", Value: "/l:/m"}, {Name: "A", Value: "/a"}, {Name: "A_TIME", Value: "0"}, {Name: "B", Value: "/b"}},
	}
	for set, want := range map[string][]bundle.Variable{
		"":                 c.Variables,
		"A":                {c.Variables[0], c.Variables[3]},
		"A_TIME":           {c.Variables[0], c.Variables[3]},
		"B":                c.Variables[:3],
		"KERNSTASH_LAYERS": c.Variables, // with what it was
	} {
		if d := cmp.Diff(want, c.Unset(func(name string) bool { return name == set })); d != "" {
			t.Errorf("%s is set (-want +got):\n%s", set, d)
		}
	}
}
