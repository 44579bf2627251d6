package frameworks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/settings"
)

func TestNamesAreThoseOfTheSetting(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
		if f.byDefault == (f.why != "") || f.unit == nil {
			t.Errorf("%s: the row is not whole", f.Name)
		}
	}
	if diff := cmp.Diff(settings.Frameworks, names); diff != "" {
		t.Error(diff)
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const dir = "/r/.meta/frameworks/"
	jax := []Variable{
		{"JAX_COMPILATION_CACHE_DIR", dir + "jax"},
		{"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"},
		{"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"},
		{"JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none"},
	}
	const (
		off      = "the setting frameworks is "
		hidden   = "it compiles for no GPU: "
		noGPU    = "there is no GPU that it compiles for"
		several  = "a job of several processes ("
		severals = "): XLA may wait for ever where only some processes find a program; name it in the setting frameworks where all of them see one directory"
		dpcpp    = "not by default: applications were seen to crash with it"
		comgr    = "not by default: later versions switch it on themselves, in a directory of their own"
	)
	for name, tt := range map[string]struct {
		choice string // default
		env    []string
		noGPU  bool
		want   map[string]string // why a framework is off, or that it is on; others are not looked at
	}{
		"default":                    {want: map[string]string{"jax": "on", "dpcpp": dpcpp, "comgr": comgr}},
		"none":                       {choice: "none", want: map[string]string{"jax": off + "none", "dpcpp": off + "none", "comgr": off + "none"}},
		"all":                        {choice: "all", noGPU: true, want: map[string]string{"jax": "on", "dpcpp": "on", "comgr": "on"}},
		"a list":                     {choice: "dpcpp,comgr", want: map[string]string{"dpcpp": "on", "comgr": "on", "jax": off + "dpcpp,comgr"}},
		"default and more":           {choice: "default,comgr", noGPU: true, want: map[string]string{"comgr": "on", "jax": noGPU, "dpcpp": dpcpp}},
		"no GPU":                     {noGPU: true, want: map[string]string{"jax": noGPU}},
		"none is to be used":         {env: []string{"CUDA_VISIBLE_DEVICES=-1"}, want: map[string]string{"jax": hidden + "CUDA_VISIBLE_DEVICES=-1"}},
		"none is to be seen":         {env: []string{"CUDA_VISIBLE_DEVICES="}, want: map[string]string{"jax": hidden + "CUDA_VISIBLE_DEVICES="}},
		"one is to be used":          {env: []string{"CUDA_VISIBLE_DEVICES=0", "JAX_PLATFORMS=cuda,cpu"}, want: map[string]string{"jax": "on"}},
		"for the processor":          {env: []string{"JAX_PLATFORMS=cpu"}, want: map[string]string{"jax": hidden + "JAX_PLATFORMS=cpu"}},
		"for the processor, named":   {choice: "jax", env: []string{"JAX_PLATFORMS=cpu"}, want: map[string]string{"jax": "on"}},
		"the user's directory":       {env: []string{"JAX_COMPILATION_CACHE_DIR=/mine"}, want: map[string]string{"jax": "JAX_COMPILATION_CACHE_DIR is set"}},
		"set and empty":              {env: []string{"JAX_COMPILATION_CACHE_DIR="}, want: map[string]string{"jax": "JAX_COMPILATION_CACHE_DIR is set"}},
		"the user's switch":          {env: []string{"JAX_ENABLE_COMPILATION_CACHE=0"}, choice: "all", want: map[string]string{"jax": "JAX_ENABLE_COMPILATION_CACHE is set"}},
		"the user's threshold":       {env: []string{"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=2"}, want: map[string]string{"jax": "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS is set"}},
		"errors are to be raised":    {env: []string{"JAX_RAISE_PERSISTENT_CACHE_ERRORS=1"}, want: map[string]string{"jax": "JAX_RAISE_PERSISTENT_CACHE_ERRORS is set"}},
		"of another kind":            {env: []string{"JAX_PLATFORMS=cuda", "JAX_ENABLE_X64=1"}, want: map[string]string{"jax": "on"}},
		"a run around this one":      {env: []string{"JAX_COMPILATION_CACHE_DIR=" + dir + "jax", "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES=none"}, want: map[string]string{"jax": "on"}},
		"another root around":        {env: []string{"JAX_COMPILATION_CACHE_DIR=/other/.meta/frameworks/jax"}, want: map[string]string{"jax": "JAX_COMPILATION_CACHE_DIR is set"}},
		"DPC++, off":                 {choice: "all", env: []string{"SYCL_CACHE_PERSISTENT=0"}, want: map[string]string{"jax": "on", "comgr": "on", "dpcpp": "SYCL_CACHE_PERSISTENT is set"}},
		"DPC++, its directory":       {choice: "all", env: []string{"SYCL_CACHE_DIR=/x"}, want: map[string]string{"dpcpp": "SYCL_CACHE_DIR is set"}},
		"comgr, off":                 {choice: "all", env: []string{"AMD_COMGR_CACHE=0"}, want: map[string]string{"comgr": "AMD_COMGR_CACHE is set"}},
		"comgr, policy":              {choice: "all", env: []string{"AMD_COMGR_CACHE_POLICY=cache_size=1%"}, want: map[string]string{"comgr": "AMD_COMGR_CACHE_POLICY is set"}},
		"several":                    {env: []string{"SLURM_NTASKS=8"}, want: map[string]string{"jax": several + "SLURM_NTASKS=8" + severals}},
		"several of torchrun's kind": {env: []string{"WORLD_SIZE=2"}, want: map[string]string{"jax": several + "WORLD_SIZE=2" + severals}},
		"one":                        {env: []string{"SLURM_NTASKS=1", "WORLD_SIZE=1"}, want: map[string]string{"jax": "on"}},
		"a coordinator":              {env: []string{"JAX_COORDINATOR_ADDRESS=h:1"}, want: map[string]string{"jax": several + "JAX_COORDINATOR_ADDRESS" + severals}},
		"several, named":             {choice: "jax", env: []string{"SLURM_NTASKS=8"}, want: map[string]string{"jax": "on"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.choice == "" {
				tt.choice = settings.FrameworksDefault
			}
			for _, d := range Decide(Input{Root: "/r", Choice: tt.choice, Environ: tt.env, Exists: func(path string) bool { return !tt.noGPU && path == "/dev/nvidiactl" }}) {
				want, asked := tt.want[d.Name]
				switch {
				case !asked:
				case want != "on":
					expected := !strings.HasSuffix(want, " is set") && !strings.HasPrefix(want, several)
					if diff := cmp.Diff(Decision{Name: d.Name, Reason: want, Expected: expected}, d); diff != "" {
						t.Error(diff)
					}
				case !d.On || d.Dir != dir+d.Name || d.Reason != "" || d.Variables[0].Value != d.Dir:
					t.Errorf("%+v", d)
				case d.Name == "jax":
					if diff := cmp.Diff(jax, d.Variables); diff != "" {
						t.Error(diff)
					}
				}
			}
		})
	}
}

// TestUndo: what a run or a session around has switched on is switched off where nothing is to be on, but
// what a user has decided holds.
func TestUndo(t *testing.T) {
	t.Parallel()
	const ours = "JAX_COMPILATION_CACHE_DIR=/r/.meta/frameworks/jax"
	off := []Variable{{"JAX_ENABLE_COMPILATION_CACHE", "0"}}
	for name, tt := range map[string]struct {
		env  []string
		want []Variable
	}{
		"switched on":             {[]string{ours, "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES=none"}, off},
		"not switched on":         {nil, nil},
		"the user's":              {[]string{"JAX_COMPILATION_CACHE_DIR=/mine"}, nil},
		"the user's switch, ours": {[]string{ours, "JAX_ENABLE_COMPILATION_CACHE=1"}, nil},
	} {
		in := Input{Root: "/r", Choice: settings.FrameworksNone, Environ: tt.env, Exists: func(string) bool { return true }}
		if diff := cmp.Diff(tt.want, Decide(in)[0].Variables); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(tt.want, Decision{Name: "jax", On: true}.Leave(in, "why").Variables); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
