//go:build linux && cgo

#define _GNU_SOURCE
#include "enter.h"

#include "room.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How much of a stack Go may want for what it does on it, and what a thread of
 * ours has. Go itself counts on 32 KiB. */
enum { stack_needed = 64 << 10, stack_ours = 256 << 10 };

/* 1 in the process that loaded the library. The page is zero in children,
 * however they were forked (MADV_WIPEONFORK, Linux 4.14); where the kernel does
 * not know that, pthread_atfork does it for those that fork(3) made. */
static const volatile unsigned char *loaded_here;
static volatile unsigned char loaded_fallback;

static void in_child(void)
{
	loaded_fallback = 0;
}

/* The signals that wait while a thread is in Go: all but those that say that
 * the thread itself did something wrong. */
static sigset_t held;

static void set_held(void)
{
	static const int free_signals[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS,
	};
	sigfillset(&held);
	for (size_t i = 0; i < sizeof free_signals / sizeof *free_signals; i++)
		sigdelset(&held, free_signals[i]);
}

/* Two signals are never held back on Go's own threads, since Go lets its threads
 * have them. A handler of the host's must not run on the small stacks of Go code:
 * with SA_ONSTACK it runs on the thread's signal stack, and in threads without one
 * where it always ran. Go sees to that for handlers that are there when it is loaded;
 * this does for later ones. Looking takes two system calls, so once a millisecond is
 * enough. */
static void handlers_off_stack(void)
{
	static const int unheld[] = {SIGPROF, SIGCHLD};
	static _Atomic int64_t looked;
	struct timespec t;
	int64_t now;

	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &t) != 0)
		return;
	now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	if (atomic_exchange_explicit(&looked, now, memory_order_relaxed) == now)
		return;
	for (size_t i = 0; i < sizeof unheld / sizeof *unheld; i++) {
		struct sigaction a;
		if (sigaction(unheld[i], NULL, &a) != 0 || (a.sa_flags & SA_ONSTACK) != 0)
			continue;
		if ((a.sa_flags & SA_SIGINFO) == 0 && (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN))
			continue;
		a.sa_flags |= SA_ONSTACK;
		sigaction(unheld[i], &a, NULL);
	}
}

/* Go makes its first thread in a constructor of its own, without priority. What
 * that thread holds back all of Go's threads do, so the host's handlers do not run on
 * them, but for two (see handlers_off_stack). The mask is put back in before_host, which stands behind
 * Go's constructor. */
static sigset_t mask_of_host;

__attribute__((constructor(101))) static void before_go(void)
{
	long size = sysconf(_SC_PAGESIZE);
	unsigned char *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED && madvise(page, (size_t)size, MADV_WIPEONFORK) == 0) {
		*page = 1;
		loaded_here = page;
	} else {
		loaded_fallback = 1;
		loaded_here = &loaded_fallback;
		if (pthread_atfork(NULL, NULL, in_child) != 0)
			loaded_fallback = 0; /* better of no use than a child that hangs */
	}
	set_held();
	ks_note_main();
	pthread_sigmask(SIG_BLOCK, &held, &mask_of_host);
	ks_look_for_room();
}

__attribute__((constructor)) static void before_host(void)
{
	pthread_sigmask(SIG_SETMASK, &mask_of_host, NULL);
}

bool ks_usable(void)
{
	return loaded_here != NULL && *loaded_here != 0 && !ks_has_no_room();
}

/* The lowest address of this thread's stack and the one past its highest; low is
 * 1 where they cannot be told, 0 until they are asked for. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uintptr_t low, high;
} stack;

static bool has_stack(void)
{
	char here;
	uintptr_t at = (uintptr_t)&here;

	if (stack.low == 0) {
		pthread_attr_t a;
		void *low;
		size_t size;
		stack.low = 1;
		ks_note_main();
		if (pthread_getattr_np(pthread_self(), &a) == 0) {
			if (pthread_attr_getstack(&a, &low, &size) == 0) {
				stack.low = (uintptr_t)low;
				stack.high = (uintptr_t)low + size;
			}
			pthread_attr_destroy(&a);
		}
	}
	return at > stack.low && at < stack.high && at - stack.low >= stack_needed;
}

struct call {
	void (*go)(void *);
	void *arg;
};

/* What a write of ours sends to the thread that writes: a file is at the limit of the
 * process (RLIMIT_FSIZE), or nobody reads a pipe any more. The host would be ended by it,
 * and has written nothing. */
static atomic_bool failed; /* a write of ours, at some time */

void ks_write_failed(void)
{
	atomic_store(&failed, true);
}

static void drop_own(const sigset_t *mask)
{
	static const int own[] = {SIGXFSZ, SIGPIPE};
	const struct timespec now = {0, 0};
	sigset_t pending;

	if (sigpending(&pending) != 0)
		return;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		sigset_t one;
		/* What the host holds back may have been pending before. */
		if (sigismember(&pending, own[i]) != 1 || sigismember(mask, own[i]) != 0)
			continue;
		sigemptyset(&one);
		sigaddset(&one, own[i]);
		sigtimedwait(&one, NULL, &now);
	}
}

static void *on_thread(void *p)
{
	struct call *c = p;
	c->go(c->arg);
	return NULL;
}

static bool elsewhere(void (*go)(void *), void *arg)
{
	struct call c = {go, arg};
	pthread_attr_t a;
	pthread_t t;
	bool made;

	if (pthread_attr_init(&a) != 0)
		return false;
	made = pthread_attr_setstacksize(&a, stack_ours) == 0 && pthread_create(&t, &a, on_thread, &c) == 0;
	pthread_attr_destroy(&a);
	return made && pthread_join(t, NULL) == 0;
}

bool ks_enter(void (*go)(void *), void *arg)
{
	sigset_t mask;
	int cancel;
	bool done = true;

	if (!ks_usable())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_BLOCK, &held, &mask);
	handlers_off_stack();
	if (has_stack())
		go(arg);
	else
		done = elsewhere(go, arg);
	if (atomic_load_explicit(&failed, memory_order_relaxed)) /* by this thread, or long ago */
		drop_own(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	pthread_setcancelstate(cancel, NULL);
	return done;
}
