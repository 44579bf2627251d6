package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrServed is wrapped where an agent serves at a socket already.
var ErrServed = errors.New("an agent serves there already")

// Listen makes the socket at a path, in place of one that a dead agent left. everybody says
// that other users may connect. Closing the listener removes the socket.
func Listen(path string, everybody bool) (*net.UnixListener, error) {
	dir := filepath.Dir(path)
	perm := fs.FileMode(0o700)
	if everybody {
		perm = 0o755
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := makeDirectory(dir, perm); err != nil {
			return nil, fmt.Errorf("make the socket's directory: %w", err)
		}
	}
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	held, err := hold(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l, err := bind(path, everybody)
	if err != nil {
		_ = unix.Close(held)
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return l, nil
}

// makeDirectory makes a directory of this mode, whatever the umask takes. What is there by now stays as it is: a link that
// somebody has put there would lead to another directory of ours.
func makeDirectory(dir string, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(dir), perm); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, uint32(perm))
}

func bind(path string, everybody bool) (*net.UnixListener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, errors.New("what is there is no socket")
	default: // of an agent that is dead: we have its lock
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o600)
	if everybody {
		mode = 0o666 // credentials decide, not the mode
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// hold takes the lock that an agent has as long as its process lives: the descriptor stays
// open. The file stays, too.
func hold(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		err = ErrServed
	}
	_ = unix.Close(fd)
	return -1, err
}

// checkDirectory refuses one in which somebody else could put another socket in place of ours.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case st.Uid != uint32(os.Geteuid()) && st.Uid != 0:
		return fmt.Errorf("%s belongs to user %d: applications would not believe what is in it", dir, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write %s (mode %04o): applications would not believe what is in it; run: chmod go-w %[1]s", dir, info.Mode().Perm())
	}
	return nil
}

// Activated returns the listener that systemd hands to this process (socket activation); nil:
// it hands none.
func Activated() (*net.UnixListener, error) {
	const first = 3
	pid, fds := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	os.Unsetenv("LISTEN_PID")
	os.Unsetenv("LISTEN_FDS")
	os.Unsetenv("LISTEN_FDNAMES")
	if fds != "1" {
		return nil, fmt.Errorf("socket activation: LISTEN_FDS=%s, want 1 socket", fds)
	}
	f := os.NewFile(first, "systemd's socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket activation: %w", err)
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("socket activation: %s, want a unix socket", l.Addr())
	}
	return u, nil
}

// Notify tells systemd, or nobody, of a change: READY=1, STOPPING=1 (sd_notify).
func Notify(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return
	}
	if c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"}); err == nil {
		_, _ = c.Write([]byte(state))
		c.Close()
	}
}
