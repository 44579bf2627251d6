package trace

import "golang.org/x/sys/unix"

const (
	nativeArch  = unix.AUDIT_ARCH_X86_64
	addressBits = 1<<64 - 1
)

// olderCalls are those that newer instruction sets have not.
var olderCalls = map[int32][]place{
	unix.SYS_OPEN:  {{none, 0, 0}},
	unix.SYS_CREAT: {{none, 0, Looked | Written}},

	unix.SYS_STAT:       {{none, 0, Looked}},
	unix.SYS_LSTAT:      {{none, 0, Looked}},
	unix.SYS_NEWFSTATAT: {{0, 1, Looked}},
	unix.SYS_ACCESS:     {{none, 0, Looked}},
	unix.SYS_READLINK:   {{none, 0, Looked}},

	unix.SYS_GETDENTS: {{0, none, Listed}},

	unix.SYS_MKDIR:     {{none, 0, Written}},
	unix.SYS_RMDIR:     {{none, 0, Written}},
	unix.SYS_MKNOD:     {{none, 0, Written}},
	unix.SYS_UNLINK:    {{none, 0, Written}},
	unix.SYS_SYMLINK:   {{none, 1, Written}},
	unix.SYS_LINK:      {{none, 0, Opened | Looked | Written}, {none, 1, Written}},
	unix.SYS_RENAME:    {{none, 0, Written}, {none, 1, Written}},
	unix.SYS_CHMOD:     {{none, 0, Written}},
	unix.SYS_CHOWN:     {{none, 0, Written}},
	unix.SYS_LCHOWN:    {{none, 0, Written}},
	unix.SYS_UTIME:     {{none, 0, Written}},
	unix.SYS_UTIMES:    {{none, 0, Written}},
	unix.SYS_FUTIMESAT: {{0, 1, Written}},
}

var olderOpens = map[int32]int{unix.SYS_OPEN: 1}
