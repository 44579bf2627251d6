//go:build linux && cgo

#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The host is suspended in no thread but this one, and shares its memory with
 * what runs below until the program is loaded: so nothing is copied, however large
 * the host is, and everything between clone and execve is a system call.
 *
 * There are two generations. The first one is cloned with no signal for its end,
 * so the host's wait and its SIGCHLD know nothing of it; it ends at once, and is
 * collected here. The second one becomes init's.
 */

enum { stack_size = 64 << 10 };

struct spawn {
	const char *path;
	char *const *argv;
	char *const *envp;
	char *stack; /* of the second generation */
	int error;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAIN __attribute__((no_sanitize("address", "thread")))
#else
#define PLAIN
#endif

/* Closes all descriptors, of which this process has a table of its own. */
PLAIN static void close_all(void)
{
	struct rlimit limit;
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > (1 << 20))
		limit.rlim_cur = 1 << 20;
	for (int fd = 0; fd < (int)limit.rlim_cur; fd++)
		close(fd);
}

/* Handlers go with execve; what the host ignores would stay ignored. */
PLAIN static void default_signals(void)
{
	/* The kernel's own form, all zero: SIG_DFL. The C library's call refuses those
	 * signals that it keeps for itself, which may be ignored too. */
	unsigned long act[8] = {0}, was[8];
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (syscall(SYS_rt_sigaction, sig, NULL, was, 8) == 0 && was[0] != 0)
			syscall(SYS_rt_sigaction, sig, act, NULL, 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

PLAIN static int second(void *arg)
{
	struct spawn *s = arg;

	default_signals();
	execve(s->path, s->argv, s->envp);
	s->error = errno;
	_exit(127);
}

PLAIN static int first(void *arg)
{
	struct spawn *s = arg;

	close_all();
	if (setsid() < 0 || chdir("/") != 0 || open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2 ||
		clone(second, s->stack + stack_size, CLONE_VM | CLONE_VFORK, s) < 0) {
		s->error = errno != 0 ? errno : EIO;
		_exit(127);
	}
	_exit(0);
}

int ks_spawn_detached(const char *path, char *const argv[], char *const envp[])
{
	struct spawn s = {.path = path, .argv = argv, .envp = envp};
	int before = errno, status;
	sigset_t all, was;
	char *stacks;
	pid_t pid;

	stacks = mmap(NULL, 2 * stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stacks == MAP_FAILED)
		return errno;
	s.stack = stacks + stack_size;
	/* No handler of the host may run in what shares its memory. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	pid = clone(first, stacks + stack_size, CLONE_VM | CLONE_VFORK, &s);
	if (pid < 0)
		s.error = errno;
	else
		while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	munmap(stacks, 2 * stack_size);
	errno = before;
	return s.error;
}
