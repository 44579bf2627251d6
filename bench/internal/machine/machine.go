// Package machine says where something was measured.
package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine is what a reader must know to judge a figure.
type Machine struct {
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"` // that Go uses
	MemoryGiB  int    `json:"memory_gib,omitempty"`
	System     string `json:"system"` // distribution, kernel
	Go         string `json:"go"`
	FileSystem string `json:"file_system"` // of the directory that was measured in
	Load       string `json:"load"`        // of the last minute, before
	Date       string `json:"date"`
	Commit     string `json:"commit,omitempty"`
}

// Here describes this machine. dir is where files are measured.
func Here(dir string) Machine {
	m := Machine{
		CPU: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0), System: runtime.GOOS, Go: runtime.Version(),
		FileSystem: fileSystem(dir), Date: time.Now().UTC().Format(time.DateOnly), Commit: commit(),
	}
	if name := field("/proc/cpuinfo", "model name", ":"); name != "" {
		m.CPU = name
	}
	if release := strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`); release != "" {
		m.System = release
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += ", Linux " + strings.TrimSpace(string(b))
	}
	var kib int
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal", ":"), &kib); err == nil {
		m.MemoryGiB = (kib + 1<<19) >> 20
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(b), " ")
	}
	return m
}

// String is one line.
func (m Machine) String() string {
	s := fmt.Sprintf("%s, %d CPUs", m.CPU, m.CPUs)
	if m.MemoryGiB > 0 {
		s += fmt.Sprintf(", %d GiB", m.MemoryGiB)
	}
	s += fmt.Sprintf("; %s; %s; files on %s; %s", m.System, m.Go, m.FileSystem, m.Date)
	if m.Commit != "" {
		s += ", commit " + m.Commit
	}
	return s
}

// field returns what a file says behind a name.
func field(path, name, separator string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if n, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileSystem returns the type of the file system of a directory, by the
// longest mount point that holds it.
func fileSystem(dir string) string {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "unknown"
	}
	best, kind := "", "unknown"
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		point := strings.TrimSuffix(f[1], "/")
		if (dir == f[1] || strings.HasPrefix(dir, point+"/")) && len(f[1]) >= len(best) {
			best, kind = f[1], f[2]
		}
	}
	return kind
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
