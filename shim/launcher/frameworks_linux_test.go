package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withGPU runs a script of sh in which $run is `kernstash run -q --`, on a machine whose /dev has what is there of
// NVIDIA's driver. HOME is empty at first; $broken is a run without a whole command that works, so that the launcher
// decides by itself.
const withGPU = `
set -eu
run="$TREE/bin/kernstash run -q --" broken="$WORK/broken/bin/kernstash run -q --" dir="$HOME/.cache/kernstash/.meta/frameworks"
mkdir "$WORK/dev" "$HOME"
for f in null zero random urandom; do : >"$WORK/dev/$f"; mount --bind "/dev/$f" "$WORK/dev/$f"; done
[ -z "$GPU" ] || : >"$WORK/dev/nvidiactl"
mkdir -p "$WORK/dev/shm" && mount --rbind /dev/shm "$WORK/dev/shm" # where temporary files may be
mount --rbind "$WORK/dev" /dev
cp -r "$TREE" "$WORK/broken"
printf '#!/bin/sh\nexit 1\n' >"$WORK/broken/lib/kernstash/kernstash-full"
jax() { "$@" env | sed -n 's/^JAX_//p' | sort; }
`

// TestFrameworks: JAX's own cache is switched on where there is a GPU, by the whole command, which makes the directory,
// and then by the launcher; both set the same, and do nothing where the user, or a job of several processes, is to decide.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		t.Skip("NOT RUN: a process may mount nothing here")
	}
	const on = "COMPILATION_CACHE_DIR=$HOME/.cache/kernstash/.meta/frameworks/jax\n" +
		"PERSISTENT_CACHE_ENABLE_XLA_CACHES=none\n" +
		"PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0\n" +
		"PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1\n"
	const again = `jax $run >/dev/null; touch "$dir/trimmed"; ` // it is made, and nothing is to be trimmed
	for name, tt := range map[string]struct {
		script string
		noGPU  bool
		want   string
	}{
		"made by the whole command":         {script: `jax $run; stat -c %a "$dir/jax"`, want: on + "700\n"},
		"then by the launcher":              {script: again + `jax $broken`, want: on},
		"with another option of JAX's":      {script: again + `export JAX_PLATFORMS=cuda; jax $broken; jax $run`, want: "PLATFORMS=cuda\n" + on + "PLATFORMS=cuda\n"},
		"no GPU":                            {script: `jax $run; ls -A "$HOME"`, noGPU: true},
		"no GPU, the launcher":              {script: `mkdir -p "$dir"; mkdir -m 700 "$dir/jax"; touch "$dir/trimmed"; jax $broken`, noGPU: true},
		"not made":                          {script: `jax $broken`},
		"others may enter":                  {script: again + `chmod 755 "$dir/jax"; jax $broken`},
		"others may write the root":         {script: again + `chmod 777 "$HOME/.cache/kernstash"; jax $broken; jax $run`},
		"a link":                            {script: again + `mv "$dir/jax" "$dir/x"; ln -s x "$dir/jax"; jax $broken`},
		"something is to be trimmed":        {script: again + `touch -d '2 days ago' "$dir/trimmed"; jax $broken`},
		"the user's directory":              {script: again + `export JAX_COMPILATION_CACHE_DIR=/mine; jax $broken; jax $run`, want: "COMPILATION_CACHE_DIR=/mine\nCOMPILATION_CACHE_DIR=/mine\n"},
		"the user's switch":                 {script: again + `export JAX_ENABLE_COMPILATION_CACHE=0; jax $broken; jax $run`, want: "ENABLE_COMPILATION_CACHE=0\nENABLE_COMPILATION_CACHE=0\n"},
		"no GPU is to be seen":              {script: again + `export CUDA_VISIBLE_DEVICES=; jax $broken; jax $run`},
		"a GPU is to be seen":               {script: again + `export CUDA_VISIBLE_DEVICES=1; jax $broken`, want: on},
		"for the processor":                 {script: again + `export JAX_PLATFORMS=cpu; jax $broken; jax $run`, want: "PLATFORMS=cpu\nPLATFORMS=cpu\n"},
		"a job of several":                  {script: again + `export SLURM_NTASKS=2; jax $broken; jax $run`},
		"a job of one":                      {script: again + `export SLURM_NTASKS=1; jax $run`, want: on},
		"a setting":                         {script: again + `export KERNSTASH_FRAMEWORKS=none; jax $broken; jax $run`},
		"off":                               {script: again + `export KERNSTASH_DISABLE=1; jax $broken; jax $run`},
		"a settings file":                   {script: again + `mkdir -p "$HOME/.config/kernstash"; echo '{"frameworks": "none"}' >"$HOME/.config/kernstash/config.json"; jax $broken; jax $run`},
		"XDG_CACHE_HOME":                    {script: again + `export XDG_CACHE_HOME="$HOME/.cache" HOME=/none; jax $broken`, want: on},
		"XDG_CACHE_HOME, relative":          {script: again + `export XDG_CACHE_HOME=cache; jax $broken`, want: on},
		"no home":                           {script: again + `export HOME=; jax $broken; jax $run`},
		"the report names it":               {script: again + `"$TREE/bin/kernstash" run true 2>&1 | sed -n 's/^  switched/switched/p'`, want: "switched on, of frameworks' own caches: jax\n"},
		"the launcher's report names it":    {script: again + `"$WORK/broken/bin/kernstash" run true 2>&1 | sed -n 's/^  switched/switched/p'`, want: "switched on, of frameworks' own caches: jax\n"},
		"with little stack":                 {script: again + `ulimit -s 16; $broken echo it runs`, want: "it runs\n"},
		"a run within a run":                {script: again + `jax $run $broken; jax $broken $run`, want: on + on},
		"a file system that is read-only":   {script: again + `mount --bind "$dir" "$dir"; mount -o remount,ro,bind "$dir"; jax $broken; jax $run`},
		"a file system with nothing on it":  {script: again + `mount -t tmpfs -o mode=700,size=128m tmpfs "$dir/jax"; jax $broken; jax $run`, want: on + on},
		"a file system that is almost full": {script: again + `mount -t tmpfs -o mode=700,size=1m tmpfs "$dir/jax"; jax $broken`},
		"a file system that is full":        {script: again + `mount -t tmpfs -o mode=700,size=1m tmpfs "$dir/jax"; head -c 1048576 /dev/zero >"$dir/jax/x"; jax $broken; jax $run`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			cmd := exec.Command("unshare", "-rm", "sh", "-c", withGPU+tt.script)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TREE=" + tree, "WORK=" + work, "HOME=" + filepath.Join(work, "home"), "GPU=1", "TMPDIR=" + os.TempDir()}
			if tt.noGPU {
				cmd.Env = append(cmd.Env, "GPU=")
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, "$HOME", filepath.Join(work, "home")), string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
