//go:build amd64 || arm64

package trace

import (
	"maps"

	"golang.org/x/sys/unix"
)

// lastCall is the last system call that the tables were made for.
const lastCall = unix.SYS_RSEQ_SLICE_YIELD

// A place is where a system call has the name of a file.
type place struct {
	dir  int // the argument with the descriptor that the path is relative to, or none
	path int // the argument with the address of the path; where it is none, the descriptor is the file
	uses Use // of an open, by its flags
}

const none = -1

// calls are the system calls that name files.
var calls = with(olderCalls, map[int32][]place{
	unix.SYS_OPENAT:  {{0, 1, 0}},
	unix.SYS_OPENAT2: {{0, 1, 0}},

	unix.SYS_EXECVE:   {{none, 0, Executed | Looked}},
	unix.SYS_EXECVEAT: {{0, 1, Executed | Looked}},

	unix.SYS_FACCESSAT:         {{0, 1, Looked}},
	unix.SYS_FACCESSAT2:        {{0, 1, Looked}},
	unix.SYS_READLINKAT:        {{0, 1, Looked}},
	unix.SYS_STATX:             {{0, 1, Looked}},
	unix.SYS_STATFS:            {{none, 0, Looked}},
	unix.SYS_GETXATTR:          {{none, 0, Looked}},
	unix.SYS_LGETXATTR:         {{none, 0, Looked}},
	unix.SYS_GETXATTRAT:        {{0, 1, Looked}},
	unix.SYS_LISTXATTR:         {{none, 0, Looked}},
	unix.SYS_LLISTXATTR:        {{none, 0, Looked}},
	unix.SYS_LISTXATTRAT:       {{0, 1, Looked}},
	unix.SYS_FILE_GETATTR:      {{0, 1, Looked}},
	unix.SYS_NAME_TO_HANDLE_AT: {{0, 1, Looked}},
	unix.SYS_INOTIFY_ADD_WATCH: {{none, 1, Looked}},
	unix.SYS_CHDIR:             {{none, 0, Looked}},
	unix.SYS_GETCWD:            {{none, none, Looked}},

	unix.SYS_GETDENTS64: {{0, none, Listed}},

	unix.SYS_MKDIRAT:       {{0, 1, Written}},
	unix.SYS_MKNODAT:       {{0, 1, Written}},
	unix.SYS_UNLINKAT:      {{0, 1, Written}},
	unix.SYS_SYMLINKAT:     {{1, 2, Written}},
	unix.SYS_LINKAT:        {{0, 1, Opened | Looked | Written}, {2, 3, Written}},
	unix.SYS_RENAMEAT2:     {{0, 1, Written}, {2, 3, Written}},
	unix.SYS_RENAMEAT:      {{0, 1, Written}, {2, 3, Written}},
	unix.SYS_TRUNCATE:      {{none, 0, Written}},
	unix.SYS_FCHMOD:        {{0, none, Written}},
	unix.SYS_FCHMODAT:      {{0, 1, Written}},
	unix.SYS_FCHMODAT2:     {{0, 1, Written}},
	unix.SYS_FCHOWN:        {{0, none, Written}},
	unix.SYS_FCHOWNAT:      {{0, 1, Written}},
	unix.SYS_UTIMENSAT:     {{0, 1, Written}},
	unix.SYS_SETXATTR:      {{none, 0, Written}},
	unix.SYS_LSETXATTR:     {{none, 0, Written}},
	unix.SYS_FSETXATTR:     {{0, none, Written}},
	unix.SYS_SETXATTRAT:    {{0, 1, Written}},
	unix.SYS_REMOVEXATTR:   {{none, 0, Written}},
	unix.SYS_LREMOVEXATTR:  {{none, 0, Written}},
	unix.SYS_FREMOVEXATTR:  {{0, none, Written}},
	unix.SYS_REMOVEXATTRAT: {{0, 1, Written}},
	unix.SYS_FILE_SETATTR:  {{0, 1, Written}},
})

// unclear are the system calls after which a record may not be whole: paths mean something else,
// files are read without names, something other than files is asked, or calls fail that did not.
var unclear = map[int32]string{
	unix.SYS_CHROOT:            "chroot",
	unix.SYS_PIVOT_ROOT:        "pivot_root",
	unix.SYS_MOUNT:             "mount",
	unix.SYS_UMOUNT2:           "umount2",
	unix.SYS_MOVE_MOUNT:        "move_mount",
	unix.SYS_OPEN_TREE:         "open_tree",
	unix.SYS_OPEN_TREE_ATTR:    "open_tree_attr",
	unix.SYS_MOUNT_SETATTR:     "mount_setattr",
	unix.SYS_FSMOUNT:           "fsmount",
	unix.SYS_SETNS:             "setns",
	unix.SYS_OPEN_BY_HANDLE_AT: "open_by_handle_at",
	unix.SYS_IO_URING_SETUP:    "io_uring_setup",
	unix.SYS_FANOTIFY_INIT:     "fanotify_init",
	unix.SYS_PTRACE:            "ptrace",
	unix.SYS_PIDFD_GETFD:       "pidfd_getfd",
	unix.SYS_RT_SIGACTION:      "rt_sigaction",
	unix.SYS_SOCKET:            "socket",
	unix.SYS_CONNECT:           "connect",
	unix.SYS_BIND:              "bind",
	unix.SYS_MQ_OPEN:           "mq_open",
	unix.SYS_MSGGET:            "msgget",
	unix.SYS_SHMGET:            "shmget",
}

// opens are the system calls that open a file, by the argument that has the flags, or their address.
var opens = with(olderOpens, map[int32]int{unix.SYS_OPENAT: 2, unix.SYS_OPENAT2: 2})

func with[V any](all, more map[int32]V) map[int32]V {
	maps.Copy(all, more)
	return all
}

// usesOf returns what an open with these flags is.
func usesOf(flags uint64) Use {
	if flags&unix.O_PATH != 0 || flags&unix.O_TMPFILE == unix.O_TMPFILE { // the path is a directory's, the file has none
		return Looked
	}
	uses := Looked
	if flags&unix.O_ACCMODE != unix.O_WRONLY {
		uses |= Opened
	}
	if flags&unix.O_ACCMODE != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0 {
		uses |= Written
	}
	if flags&unix.O_DIRECTORY != 0 {
		uses = uses&^Opened | Listed
	}
	return uses
}
