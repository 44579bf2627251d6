package faultfs

import (
	"syscall"

	"github.com/kernstash/kernstash/internal/safefs"
)

// Kind is a trouble that a disk, or a system, can have: a fault and the calls
// that can meet it.
type Kind struct {
	Name  string
	Fault Fault
	Ops   []safefs.Op // nil: any
}

// Calls by what they do.
var (
	opens  = []safefs.Op{safefs.OpOpen, safefs.OpOpenat, safefs.OpOpenat2, safefs.OpCreate, safefs.OpTmpfile}
	makes  = []safefs.Op{safefs.OpCreate, safefs.OpTmpfile, safefs.OpPwrite, safefs.OpMkdir, safefs.OpMkdirAll, safefs.OpLink, safefs.OpLinkFD, safefs.OpLinkProc, safefs.OpRename, safefs.OpUtimens}
	change = append([]safefs.Op{safefs.OpUnlink, safefs.OpRmdir}, makes...)
	links  = []safefs.Op{safefs.OpLink, safefs.OpLinkFD, safefs.OpLinkProc}
	locks  = []safefs.Op{safefs.OpLock, safefs.OpLockFreed}
	moves  = []safefs.Op{safefs.OpPread, safefs.OpPwrite}
)

// Kinds returns every kind of trouble.
func Kinds() []Kind {
	e := func(name string, errno syscall.Errno, ops []safefs.Op) Kind {
		return Kind{name, Fault{Err: errno}, ops}
	}
	return []Kind{
		e("EIO", syscall.EIO, nil),
		e("ESTALE", syscall.ESTALE, nil),
		e("EINTR", syscall.EINTR, nil),
		e("ENOENT", syscall.ENOENT, nil), // somebody removes it
		e("EACCES", syscall.EACCES, append(append([]safefs.Op{safefs.OpFstatat}, opens...), change...)),
		e("EPERM", syscall.EPERM, append(append([]safefs.Op{}, opens...), change...)),
		e("EROFS", syscall.EROFS, change),
		e("ENOSPC", syscall.ENOSPC, makes),
		e("EDQUOT", syscall.EDQUOT, makes),
		e("EMFILE", syscall.EMFILE, opens),
		e("ENOMEM", syscall.ENOMEM, nil),
		e("ENOSYS", syscall.ENOSYS, append([]safefs.Op{safefs.OpOpenat2}, locks...)),
		e("ENOLCK", syscall.ENOLCK, locks),
		e("EOPNOTSUPP", syscall.EOPNOTSUPP, append(links, locks...)),
		e("EEXIST", syscall.EEXIST, append([]safefs.Op{safefs.OpMkdir, safefs.OpCreate}, links...)),
		e("EMLINK", syscall.EMLINK, append([]safefs.Op{safefs.OpMkdir}, links...)),
		e("EXDEV", syscall.EXDEV, append([]safefs.Op{safefs.OpRename, safefs.OpOpenat2}, links...)),
		e("ENOTEMPTY", syscall.ENOTEMPTY, []safefs.Op{safefs.OpRmdir}),
		{"half", Half, moves},
		{"nothing", Fault{}, moves},
	}
}
