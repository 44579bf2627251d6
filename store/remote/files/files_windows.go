package files

import "syscall"

const nonblock = 0

var errQuota error = syscall.Errno(1295) // ERROR_DISK_QUOTA_EXCEEDED
