#include "front.h"

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What Go and the drivers that it calls may want of a stack (Go counts on 32 KiB), and what a thread of ours has. */
enum { stack_needed = 256 << 10, stack_ours = 1 << 20 };

/* The signals that wait while a thread is in Go: all but those that say that the thread itself did something wrong. */
static sigset_t held;
static pthread_once_t held_set = PTHREAD_ONCE_INIT;

static void set_held(void)
{
	static const int free_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	sigfillset(&held);
	for (size_t i = 0; i < sizeof free_signals / sizeof *free_signals; i++)
		sigdelset(&held, free_signals[i]);
}

/* Two signals are never held back on Go's own threads, since Go lets its threads have them. A handler of the host's
 * must not run on the small stacks of Go code: with SA_ONSTACK it runs on the thread's signal stack, and in threads
 * without one where it always ran. Go sees to that for handlers that are there when it is loaded; this does for
 * later ones. Looking takes two system calls, so once a millisecond is enough. */
static void handlers_off_stack(void)
{
	static const int unheld[] = {SIGPROF, SIGCHLD};
	static _Atomic int64_t looked;
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &t) != 0)
		return;
	int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
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

/* The lowest address of this thread's stack (0: not asked for yet, 1: cannot be told), and the one past its highest. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uintptr_t low, high;
} stack;

/* The main thread's stack begins at the program's arguments and grows to its limit; the kernel leaves 128 MiB
 * below it free (mmap_base), and where the limit is infinite maps from the other end. pthread_getattr_np reads the
 * list of all mappings for that, which takes 0.1 to 0.3 ms where a GPU's driver is loaded. */
static bool is_on_main_stack(uintptr_t at)
{
	const uintptr_t top = getauxval(AT_EXECFN), most = UINT32_C(64) << 20;
	const uintptr_t above = 64 << 10; /* arguments are there, which the limit does not count */
	struct rlimit limit;

	if (syscall(SYS_gettid) != getpid() || top < most || getrlimit(RLIMIT_STACK, &limit) != 0)
		return false;
	uintptr_t low = top - (limit.rlim_cur < most ? (uintptr_t)limit.rlim_cur : most) + above;
	if (at <= low || at >= top)
		return false;
	stack.low = low;
	stack.high = top;
	return true;
}

static bool has_stack(void)
{
	char here;
	uintptr_t at = (uintptr_t)&here;

	if (stack.low == 0) {
		pthread_attr_t a;
		stack.low = 1;
		ks_note_main();
		if (!is_on_main_stack(at) && pthread_getattr_np(pthread_self(), &a) == 0) {
			void *low;
			size_t size;
			if (pthread_attr_getstack(&a, &low, &size) == 0) {
				stack.low = (uintptr_t)low;
				stack.high = (uintptr_t)low + size;
			}
			pthread_attr_destroy(&a);
		}
	}
	return at > stack.low && at < stack.high && at - stack.low >= stack_needed;
}

/* What is to be called, on one stack or another. */
struct call {
	enum ks_entry entry;
	void *argument;
	bool done;
	bool write_failed; /* a write of ours failed: by this thread, or long ago */
	const void *at; /* where Go is */
};

static void call(struct call *c)
{
	const struct ks_go *go = ks_load();

	if (go == NULL)
		return;
	memcpy(&c->at, &go->call, sizeof c->at);
	if (c->entry != ks_entries)
		c->write_failed = go->call((int)c->entry, c->argument);
	c->done = true;
}

/* What a write of ours sends to the thread that writes: a file is at the limit of the process (RLIMIT_FSIZE), or
 * nobody reads a pipe any more. The host would be ended by it, and has written nothing. */
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

static void *on_thread(void *c)
{
	call(c);
	return NULL;
}

static void call_on_thread(struct call *c)
{
	pthread_attr_t a;
	pthread_t t;

	if (pthread_attr_init(&a) != 0)
		return;
	if (pthread_attr_setstacksize(&a, stack_ours) == 0 && pthread_create(&t, &a, on_thread, c) == 0)
		pthread_join(t, NULL);
	pthread_attr_destroy(&a);
}

static void enter(struct call *c)
{
	sigset_t mask;
	int cancel;

	if (!ks_usable())
		return;
	pthread_once(&held_set, set_held);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_BLOCK, &held, &mask);
	handlers_off_stack();
	if (has_stack())
		call(c);
	else
		call_on_thread(c);
	if (c->write_failed)
		drop_own(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	pthread_setcancelstate(cancel, NULL);
}

bool ks_enter(enum ks_entry entry, void *argument)
{
	struct call c = {.entry = entry, .argument = argument};
	enter(&c);
	return c.done;
}

__attribute__((visibility("default"))) const void *kernstash_runtime(void)
{
	struct call c = {.entry = ks_entries};
	enter(&c);
	return c.at;
}
