//go:build amd64 || arm64

package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A recorder records the system calls of a command's processes.
type recorder struct {
	listener
	main uint32 // the process that is still ours; 0 once it executed the command

	files    map[string]*File
	unclear  string
	seen     map[uint32]bool
	programs map[uint32]string // what processes, or threads, execute
	restless map[string]bool   // programs whose calls the end of a child may interrupt
	buffer   [unix.PathMax]byte
}

// A named file is what one system call names.
type named struct {
	path string
	uses Use
}

// next records the next call, and lets it run.
func (r *recorder) next(timeout int) (some bool, err error) {
	var n notification
	if ok, err := r.receive(&n, timeout); err != nil || !ok {
		return false, err
	}
	program := r.program(&n)
	names, why := r.read(&n, program)
	if why == "" && r.restless[program] && hasChildren(n.pid) {
		why = "SIGCHLD may interrupt a call"
	}
	ok, err := r.allow(&n)
	if err != nil || !ok { // what was read may be another process's
		return false, err
	}
	if why != "" && r.unclear == "" {
		r.unclear = fmt.Sprintf("process %d (%s): %s", n.pid, program, why)
	}
	for _, f := range names {
		r.add(f, program)
	}
	r.seen[n.pid] = true
	return true, nil
}

func (r *recorder) add(n named, program string) {
	f := r.files[n.path]
	if f == nil {
		f = &File{Path: n.path, By: make(map[string]Use)}
		r.files[n.path] = f
	}
	f.Uses |= n.uses
	if program != "" {
		f.By[program] |= n.uses
	}
}

// record returns what was recorded.
func (r *recorder) record() *Record {
	all := &Record{Unclear: r.unclear}
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		all.Files = append(all.Files, *r.files[path])
	}
	return all
}

// program returns the path of what a process executes, "" where that is still us.
func (r *recorder) program(n *notification) string {
	executes := n.call == unix.SYS_EXECVE || n.call == unix.SYS_EXECVEAT
	if n.pid == r.main {
		if executes {
			r.main = 0
		}
		return ""
	}
	path, ok := r.programs[n.pid]
	if !ok {
		path, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", n.pid))
		r.programs[n.pid] = path
	}
	if executes {
		clear(r.programs)
	}
	return path
}

// read returns what a call names, and why that may not be all that it does.
func (r *recorder) read(n *notification, program string) (names []named, why string) {
	if n.arch != nativeArch {
		return nil, "a system call of another instruction set"
	}
	if name, ok := unclear[n.call]; ok {
		switch {
		case n.call == unix.SYS_SOCKET && n.args[0] == unix.AF_UNIX: // it does nothing until it is connected
			return nil, ""
		case n.call == unix.SYS_CONNECT:
			return r.connection(n)
		case n.call == unix.SYS_RT_SIGACTION:
			return nil, r.handler(n, program)
		}
		return nil, "it calls " + name
	}
	places, ok := calls[n.call]
	if !ok {
		return nil, fmt.Sprintf("system call %d, which is not known", n.call)
	}
	for _, p := range places {
		uses := p.uses
		if at, ok := opens[n.call]; ok {
			flags := n.args[at]
			if n.call == unix.SYS_OPENAT2 {
				var how [24]byte
				if err := r.memory(n, flags, how[:]); err != nil {
					return nil, "openat2: " + err.Error()
				}
				flags = binary.NativeEndian.Uint64(how[:])
				if binary.NativeEndian.Uint64(how[16:])&unix.RESOLVE_IN_ROOT != 0 {
					return nil, "openat2 in a root of its own"
				}
			}
			uses = usesOf(flags)
		}
		path, err := r.path(n, p, uses)
		if err != nil {
			return nil, fmt.Sprintf("system call %d: %v", n.call, err)
		}
		if path == "" {
			continue
		}
		names = append(names, named{path, uses})
		if uses&Executed != 0 {
			more, changes := r.execution(n, path)
			names = append(names, more...)
			if changes {
				why = path + " changes the user, or is to have privileges"
			}
		}
	}
	return names, why
}

// interrupting are the signals that nobody has to send, and that end no process.
var interrupting = []unix.Signal{unix.SIGALRM, unix.SIGVTALRM, unix.SIGPROF, unix.SIGCHLD}

// handler says why a signal's new handler matters. A call that waits for us is interrupted by a
// signal, and begins anew only where the handler has SA_RESTART; else it fails with EINTR, as none
// of these calls does otherwise.
func (r *recorder) handler(n *notification, program string) (why string) {
	var action [16]byte // the beginning of the kernel's struct sigaction
	if n.args[1] == 0 || r.memory(n, n.args[1], action[:]) != nil {
		return ""
	}
	const defaultOrIgnored, restart = 1, 0x10000000
	if binary.NativeEndian.Uint64(action[:]) <= defaultOrIgnored || binary.NativeEndian.Uint64(action[8:])&restart != 0 {
		return ""
	}
	if unix.Signal(n.args[0]) == unix.SIGCHLD {
		r.restless[program] = true
		return ""
	}
	return fmt.Sprintf("signal %d may interrupt a call", n.args[0])
}

// hasChildren reports whether a process has children, or may have some.
func hasChildren(pid uint32) bool {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range lists {
		if list, err := os.ReadFile(name); err != nil || len(list) > 0 {
			return true
		}
	}
	return len(lists) == 0
}

// connection returns the socket that a process asks for, and why that matters, if there is one.
func (r *recorder) connection(n *notification) (names []named, why string) {
	address := make([]byte, min(n.args[2], unix.SizeofSockaddrUnix))
	if err := r.memory(n, n.args[1], address); err != nil || len(address) < 4 || binary.NativeEndian.Uint16(address) != unix.AF_UNIX || address[2] == 0 {
		return nil, "it calls connect"
	}
	text, _, _ := bytes.Cut(address[2:], []byte{0})
	path, err := r.below(n, none, string(text), Looked)
	if err != nil {
		return nil, err.Error()
	}
	if _, err := os.Lstat(path); !errors.Is(err, unix.ENOENT) {
		why = "it connects to " + path
	}
	return []named{{path, Looked}}, why
}

// path returns the file that a call names at p, "" where it names none.
func (r *recorder) path(n *notification, p place, uses Use) (string, error) {
	var path string
	if p.path != none && n.args[p.path] != 0 {
		text, err := r.text(n, n.args[p.path])
		if errors.Is(err, unix.ENAMETOOLONG) {
			return "", nil // the call fails by that
		}
		if err != nil {
			return "", fmt.Errorf("reading the path: %w", err)
		}
		path = text
	}
	if path == "" && p.path != none {
		_, isOpen := opens[n.call]
		if isOpen || p.dir == none || int32(n.args[p.dir]) == unix.AT_FDCWD || uses == Looked {
			return "", nil // none, or one that was opened by a name, which is recorded
		}
	}
	return r.below(n, p.dir, path, uses)
}

// below returns a path as the process sees it from the descriptor in an argument, or from the
// directory that it is in; "" where there is no such file.
func (r *recorder) below(n *notification, dir int, path string, uses Use) (string, error) {
	if strings.HasPrefix(path, "/") {
		return tidy(path), nil
	}
	link := fmt.Sprintf("/proc/%d/cwd", n.pid)
	if dir != none && int32(n.args[dir]) != unix.AT_FDCWD {
		link = fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[dir]))
	}
	base, err := os.Readlink(link)
	switch {
	case errors.Is(err, unix.ENOENT): // no descriptor: the call fails by that
		return "", nil
	case err != nil:
		return "", err
	}
	gone := !strings.HasPrefix(base, "/") || strings.HasSuffix(base, " (deleted)") && !isNamed(link, base)
	if gone && path == "" && uses&Executed == 0 { // a pipe, or a file that was removed
		return "", nil
	}
	if gone {
		return "", fmt.Errorf("%q below %q", path, base)
	}
	if rest, ok := strings.CutPrefix(base+"/", fmt.Sprintf("/proc/%d/", n.pid)); ok {
		base = "/proc/self/" + rest
	}
	return tidy(base + "/" + path), nil
}

func isNamed(link, path string) bool {
	info, err := os.Stat(link)
	other, errOther := os.Stat(path)
	return err == nil && errOther == nil && os.SameFile(info, other)
}

// tidy removes empty elements and "." from an absolute path.
func tidy(path string) string {
	if !strings.Contains(path, "//") && !strings.Contains(path, "/./") && !strings.HasSuffix(path, "/") && !strings.HasSuffix(path, "/.") {
		return path
	}
	var b strings.Builder
	for element := range strings.SplitSeq(path, "/") {
		if element != "" && element != "." {
			b.WriteString("/" + element)
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// execution returns what the kernel reads to execute a script: its interpreter. changes reports
// whether the program would have other privileges than who executes it.
func (r *recorder) execution(n *notification, path string) (names []named, changes bool) {
	for range 6 { // the kernel follows five
		if rest, ok := strings.CutPrefix(path, "/proc/self/"); ok {
			path = fmt.Sprintf("/proc/%d/%s", n.pid, rest)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			break
		}
		capabilities, _ := unix.Getxattr(path, "security.capability", nil)
		if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || capabilities > 0 {
			changes = true
		}
		head := make([]byte, 256)
		f, err := os.Open(path)
		if err != nil {
			break
		}
		size, _ := f.Read(head)
		_ = f.Close()
		line, ok := bytes.CutPrefix(head[:size], []byte("#!"))
		if !ok {
			break
		}
		line, _, _ = bytes.Cut(line, []byte("\n"))
		words := bytes.Fields(line)
		if len(words) == 0 {
			break
		}
		path = string(words[0])
		if !strings.HasPrefix(path, "/") {
			dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", n.pid))
			path = dir + "/" + path
		}
		path = tidy(path)
		names = append(names, named{path, Executed | Looked})
	}
	return names, changes
}

// text reads a C string of a process.
func (r *recorder) text(n *notification, address uint64) (string, error) {
	address &= addressBits
	for read := 0; read < len(r.buffer); {
		// A read does not go beyond a page, as the next may not be there.
		page := 4096 - int((address+uint64(read))%4096)
		some := r.buffer[read : read+min(page, len(r.buffer)-read, max(256, read))]
		if err := r.memory(n, address+uint64(read), some); err != nil {
			return "", err
		}
		if i := bytes.IndexByte(some, 0); i >= 0 {
			return string(r.buffer[:read+i]), nil
		}
		read += len(some)
	}
	return "", unix.ENAMETOOLONG
}

// memory reads memory of a process.
func (r *recorder) memory(n *notification, address uint64, to []byte) error {
	if len(to) == 0 {
		return nil
	}
	local := [1]unix.Iovec{{Base: &to[0], Len: uint64(len(to))}}
	remote := [1]unix.RemoteIovec{{Base: uintptr(address & addressBits), Len: len(to)}}
	read, err := unix.ProcessVMReadv(int(n.pid), local[:], remote[:], 0)
	if err == nil && read < len(to) {
		err = unix.EFAULT
	}
	return err
}
