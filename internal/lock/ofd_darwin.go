package lock

// setlk is F_OFD_SETLK of <sys/fcntl.h>. The kernel has had it since OS X
// 10.11, SQLite relies on it there; x/sys/unix has no name for it.
const setlk = 90
