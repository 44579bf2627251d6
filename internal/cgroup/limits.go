package cgroup

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Limits are those of a process's control groups and of all groups above them.
type Limits struct {
	CPUs       float64 // processors' worth of time; 0: no limit
	Memory     int64   // bytes; 0: no limit
	MemoryLeft int64   // bytes to that limit, file caches not counted; only where there is one
	OneEnds    bool    // where memory runs out, all processes of the group end at once
	Processes  int64   // and threads; 0: no limit
}

// Any says whether there is a limit.
func (l Limits) Any() bool { return l.CPUs > 0 || l.Memory > 0 || l.Processes > 0 }

// Read returns the limits of this process. What cannot be read limits nothing.
func Read() Limits { return read("/") }

// read is Read on a file system below root.
func read(root string) Limits {
	var l Limits
	groups := groupsOf(root)
	for _, dir := range groups["cpu"] {
		least(&l.CPUs, cpus(dir))
	}
	for _, dir := range groups["pids"] {
		least(&l.Processes, number(filepath.Join(dir, "pids.max")))
	}
	one := false
	for _, dir := range groups["memory"] {
		one = one || number(filepath.Join(dir, "memory.oom.group")) == 1
		limit := cmp.Or(number(filepath.Join(dir, "memory.max")), number(filepath.Join(dir, "memory.limit_in_bytes")))
		if limit <= 0 || limit >= unlimited {
			continue
		}
		used := cmp.Or(number(filepath.Join(dir, "memory.current")), number(filepath.Join(dir, "memory.usage_in_bytes")))
		left := max(0, limit-max(0, used-caches(dir)))
		if l.Memory == 0 || left < l.MemoryLeft {
			l.MemoryLeft = left
		}
		least(&l.Memory, limit)
	}
	l.OneEnds = one && l.Memory > 0
	return l
}

// unlimited is what version 1 says where there is no limit, or less.
const unlimited = 1 << 60

func least[T int64 | float64](to *T, n T) {
	if n > 0 && (*to == 0 || n < *to) {
		*to = n
	}
}

// cpus returns how many processors' worth of time a group may take; 0: all.
func cpus(dir string) float64 {
	var quota, period int64
	if words := strings.Fields(text(filepath.Join(dir, "cpu.max"))); len(words) == 2 {
		quota, period = parse(words[0]), parse(words[1])
	} else {
		quota, period = number(filepath.Join(dir, "cpu.cfs_quota_us")), number(filepath.Join(dir, "cpu.cfs_period_us"))
	}
	if quota <= 0 || period <= 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

// caches are the bytes of a group that the kernel takes back where they are wanted.
func caches(dir string) int64 {
	var own, total int64
	for line := range strings.Lines(text(filepath.Join(dir, "memory.stat"))) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name {
		case "inactive_file":
			own = parse(value)
		case "total_inactive_file": // version 1: with the groups below
			total = parse(value)
		}
	}
	return max(own, total)
}

// groupsOf returns the directories of the groups that limit this process, by what they
// limit, the lowest first.
func groupsOf(root string) map[string][]string {
	paths := make(map[string]string) // by controller, "" for version 2
	for line := range strings.Lines(text(filepath.Join(root, "proc/self/cgroup"))) {
		if fields := strings.SplitN(strings.TrimSpace(line), ":", 3); len(fields) == 3 {
			for controller := range strings.SplitSeq(fields[1], ",") {
				paths[controller] = fields[2]
			}
		}
	}
	groups := make(map[string][]string)
	for line := range strings.Lines(text(filepath.Join(root, "proc/self/mountinfo"))) {
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 3 {
			continue
		}
		all := func(path string) []string {
			return upwards(filepath.Join(root, unescape(mount[4])), unescape(mount[3]), path)
		}
		switch path, is := paths[""]; {
		case system[0] == "cgroup2" && is:
			for _, controller := range []string{"cpu", "memory", "pids"} {
				if groups[controller] == nil { // version 1 may have it
					groups[controller] = all(path)
				}
			}
		case system[0] == "cgroup":
			for controller := range strings.SplitSeq(system[2], ",") {
				if path, is := paths[controller]; is && controller != "" {
					groups[controller] = all(path)
				}
			}
		}
	}
	return groups
}

// upwards returns the directories of a group and those above it that can be seen: where
// the group root is mounted at a place.
func upwards(at, root, path string) (dirs []string) {
	switch rest, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/"); {
	case below:
		path = rest
	case path == root:
		path = ""
	}
	for dir := filepath.Join(at, filepath.Join("/", path)); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == at || len(dir) <= len(at) {
			return dirs
		}
	}
}

// unescape reads what mountinfo writes for spaces and the like.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func number(path string) int64 { return parse(text(path)) }

// parse returns a number, 0 for "max" and what is none.
func parse(s string) int64 {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0
	}
	return int64(min(n, math.MaxInt64))
}

func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
