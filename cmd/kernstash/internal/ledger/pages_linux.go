package ledger

import (
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// release gives the pages back that were read into this process's memory. The system keeps them in its own cache.
func release(tx *bolt.Tx) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), syscall.MADV_DONTNEED)
}
