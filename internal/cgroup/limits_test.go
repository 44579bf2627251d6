package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	version2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	version1 = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  Limits
	}{
		"nothing": {},
		"version 2, no limit": {files: map[string]string{
			"proc/self/cgroup": "0::/user.slice/a\n", "proc/self/mountinfo": version2,
			"sys/fs/cgroup/user.slice/a/cpu.max": "max 100000\n", "sys/fs/cgroup/user.slice/a/memory.max": "max\n",
			"sys/fs/cgroup/user.slice/a/memory.current": "1000\n", "sys/fs/cgroup/user.slice/a/memory.oom.group": "1\n",
		}},
		"version 2, limits at several heights": {
			files: map[string]string{
				"proc/self/cgroup": "0::/pod/app\n", "proc/self/mountinfo": version2,
				"sys/fs/cgroup/pod/cpu.max": "150000 100000\n", "sys/fs/cgroup/pod/app/cpu.max": "50000 100000\n",
				"sys/fs/cgroup/pod/memory.max": "1000000\n", "sys/fs/cgroup/pod/memory.current": "900000\n",
				"sys/fs/cgroup/pod/memory.stat":    "anon 5\ninactive_file 100000\n",
				"sys/fs/cgroup/pod/app/memory.max": "2000000\n", "sys/fs/cgroup/pod/app/memory.current": "1000\n",
				"sys/fs/cgroup/pod/app/memory.oom.group": "1\n", "sys/fs/cgroup/pod/pids.max": "100\n",
				"sys/fs/cgroup/cpu.max": "10000 100000\n", // of the root: there is none, but in a name space
			},
			want: Limits{CPUs: 0.1, Memory: 1000000, MemoryLeft: 200000, OneEnds: true, Processes: 100},
		},
		"version 1, in a container": {
			files: map[string]string{
				"proc/self/cgroup":                             "3:memory:/docker/1/x\n2:cpu,cpuacct:/a\n4:pids:/\n1:name=systemd:/\n0::/\n",
				"proc/self/mountinfo":                          version1,
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "200000\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":   "500000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "400000\n",
				"sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 50000\n",
				"sys/fs/cgroup/pids/pids.max":      "max\n",
			},
			want: Limits{CPUs: 2, Memory: 500000, MemoryLeft: 150000},
		},
		"rubbish": {files: map[string]string{
			"proc/self/cgroup": "x\n0::\n::::\n", "proc/self/mountinfo": "a b\n1 2 3 4 5 - \n" + version2,
			"sys/fs/cgroup/cpu.max": "x y z\n", "sys/fs/cgroup/memory.max": "-5\n",
		}},
	}
	for name, tt := range tests {
		root := t.TempDir()
		for path, text := range tt.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tt.want, read(root)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
