package faultfs

import (
	"syscall"

	"github.com/kernstash/kernstash/internal/beneath"
)

// Kind is a trouble that a disk, or a system, can have: a fault and the calls
// that can meet it.
type Kind struct {
	Name  string
	Fault Fault
	Ops   []beneath.Op // nil: any
}

// Calls by what they do.
var (
	opens  = []beneath.Op{beneath.OpOpen, beneath.OpOpenat, beneath.OpOpenat2, beneath.OpCreate, beneath.OpTmpfile}
	makes  = []beneath.Op{beneath.OpCreate, beneath.OpTmpfile, beneath.OpPwrite, beneath.OpMkdir, beneath.OpMkdirAll, beneath.OpLink, beneath.OpLinkFD, beneath.OpLinkProc, beneath.OpRename, beneath.OpUtimens}
	change = append([]beneath.Op{beneath.OpUnlink, beneath.OpRmdir}, makes...)
	links  = []beneath.Op{beneath.OpLink, beneath.OpLinkFD, beneath.OpLinkProc}
	locks  = []beneath.Op{beneath.OpLock, beneath.OpLockFreed}
	moves  = []beneath.Op{beneath.OpPread, beneath.OpPwrite}
)

// Kinds returns every kind of trouble.
func Kinds() []Kind {
	e := func(name string, errno syscall.Errno, ops []beneath.Op) Kind {
		return Kind{name, Fault{Err: errno}, ops}
	}
	return []Kind{
		e("EIO", syscall.EIO, nil),
		e("ESTALE", syscall.ESTALE, nil),
		e("EINTR", syscall.EINTR, nil),
		e("ENOENT", syscall.ENOENT, nil), // somebody removes it
		e("EACCES", syscall.EACCES, append(append([]beneath.Op{beneath.OpFstatat}, opens...), change...)),
		e("EPERM", syscall.EPERM, append(append([]beneath.Op{}, opens...), change...)),
		e("EROFS", syscall.EROFS, change),
		e("ENOSPC", syscall.ENOSPC, makes),
		e("EDQUOT", syscall.EDQUOT, makes),
		e("EMFILE", syscall.EMFILE, opens),
		e("ENOMEM", syscall.ENOMEM, nil),
		e("ENOSYS", syscall.ENOSYS, append([]beneath.Op{beneath.OpOpenat2, beneath.OpTmpfile}, locks...)),
		e("ENOLCK", syscall.ENOLCK, locks),
		e("EOPNOTSUPP", syscall.EOPNOTSUPP, append(append([]beneath.Op{beneath.OpTmpfile}, links...), locks...)),
		e("EEXIST", syscall.EEXIST, append([]beneath.Op{beneath.OpMkdir, beneath.OpCreate}, links...)),
		e("EMLINK", syscall.EMLINK, append([]beneath.Op{beneath.OpMkdir}, links...)),
		e("EXDEV", syscall.EXDEV, append([]beneath.Op{beneath.OpRename, beneath.OpOpenat2}, links...)),
		e("ENOTEMPTY", syscall.ENOTEMPTY, []beneath.Op{beneath.OpRmdir}),
		{"half", Half, moves},
		{"nothing", Fault{}, moves},
	}
}
