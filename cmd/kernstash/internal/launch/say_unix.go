//go:build unix

package launch

import (
	"time"

	"golang.org/x/sys/unix"
)

// sayWait bounds how long we wait for somebody to read what we say: the command
// has ended, and did not wait either.
const sayWait = time.Second

// say writes to a descriptor, past Go's own way, in which a pipe that nobody
// reads ends the process.
func say(to int, text string) {
	const whole = 4096 // a pipe that can be written takes so much at once
	for len(text) > 0 {
		fds := []unix.PollFd{{Fd: int32(to), Events: unix.POLLOUT}}
		if n, err := unix.Poll(fds, int(sayWait/time.Millisecond)); err == unix.EINTR {
			continue
		} else if err != nil || n == 0 || fds[0].Revents&unix.POLLOUT == 0 {
			return
		}
		n, err := unix.Write(to, []byte(text[:min(len(text), whole)]))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		text = text[n:]
	}
}
