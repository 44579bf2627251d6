#include "front.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the same release, and never unloaded, since Go's threads run in it. */
static const char name[] = "libkernstash-go.so.1";

/* The process that this library was loaded in, or that loads Go: another one's where a child of vfork(2) looks,
 * whose threads would end with it. The page is zero in children, however they were forked (MADV_WIPEONFORK, Linux
 * 4.14); where the kernel does not know that, pthread_atfork does it for those that fork(3) made. Go's threads are
 * gone there, and a call would hang. What fork(3) made before may load Go itself, if its parent had no other
 * thread, which may have held a lock of the dynamic linker's. */
static struct shared {
	volatile pid_t process;
	_Atomic uint32_t events[64]; /* see wait.c: who waits in a child that its handler of a signal made is woken so */
} *here, fallback;
static volatile bool forked_alone;
static char path[PATH_MAX]; /* of this library, found out before anybody changes the directory */

static void before_fork(void)
{
	int saved = errno;

	forked_alone = ks_count_threads() == 1;
	errno = saved;
}

static void in_parent(void) { forked_alone = false; } /* in what is forked without handlers */

static void in_child(void) { memset(&fallback, 0, sizeof fallback); }

__attribute__((constructor)) static void note_process(void)
{
	long size = sysconf(_SC_PAGESIZE);
	struct shared *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Dl_info self;

	if (dladdr((const void *)name, &self) == 0 || self.dli_fname == NULL || realpath(self.dli_fname, path) == NULL)
		path[0] = '\0';
	if (pthread_atfork(before_fork, in_parent, in_child) != 0)
		return; /* better of no use than a child that hangs */
	here = &fallback;
	if (page != MAP_FAILED && madvise(page, (size_t)size, MADV_WIPEONFORK) == 0)
		here = page;
	here->process = getpid();
	ks_note_main();
}

/* What Go's runtime writes to, and the stacks of its threads, take by far less. */
static const uint64_t data_needed = UINT64_C(512) << 20;

/* Threads that Go makes at its start, and some. A limit above the most is not looked at: who has so many has others. */
enum { threads_needed = 12, threads_most = 4096 };

/* The numbers of /proc/self/statm, which are pages; 0 where they are not told. */
static void used_pages(uint64_t *all, uint64_t *data)
{
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL || fscanf(f, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, all, data) != 2)
		*all = *data = 0;
	if (f != NULL)
		fclose(f);
}

static bool leaves(const struct rlimit *limit, uint64_t pages, uint64_t needed)
{
	uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return limit->rlim_cur == RLIM_INFINITY || (pages > 0 && limit->rlim_cur >= used && limit->rlim_cur - used >= needed);
}

static bool has_memory(void)
{
	struct rlimit space, data;

	if (getrlimit(RLIMIT_AS, &space) != 0)
		space.rlim_cur = RLIM_INFINITY;
	if (getrlimit(RLIMIT_DATA, &data) != 0)
		data.rlim_cur = RLIM_INFINITY;
	if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY)
		return true;
	uint64_t all_pages, data_pages;
	used_pages(&all_pages, &data_pages);
	return leaves(&space, all_pages, KERNSTASH_ADDRESS_SPACE) && leaves(&data, data_pages, data_needed);
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;

static void *stand(void *unused)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return unused;
}

/* Whether as many threads as Go wants can be there at the same time: nobody tells
 * how many a user has. Go ends the process where it cannot have one. */
static bool has_threads(void)
{
	pthread_t threads[threads_needed];
	struct rlimit limit;
	int n = 0;

	if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur > threads_most)
		return true;
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&gate);
	while (n < threads_needed && pthread_create(&threads[n], NULL, stand, NULL) == 0)
		n++;
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_unlock(&one);
	return n == threads_needed;
}

/* Whether a filter (seccomp) lets through what Go's runtime crashes without. */
static bool has_calls(void)
{
	int nobody = 0;
	sigset_t mask;
	stack_t stack;

	if (sigaltstack(NULL, &stack) != 0 || pthread_sigmask(SIG_SETMASK, NULL, &mask) != 0)
		return false;
	if ((stack.ss_flags & SS_ONSTACK) == 0 && sigaltstack(&stack, NULL) != 0)
		return false;
	/* The kernel itself refuses these, which make no sense, in another way than filters do. */
	if (syscall(SYS_clone3, NULL, (size_t)0) != 0 && errno != EINVAL && errno != ENOSYS)
		return false;
	if (errno == ENOSYS && syscall(SYS_clone, CLONE_THREAD, NULL, NULL, NULL, NULL) != 0 && errno != EINVAL)
		return false;
	return syscall(SYS_futex, &nobody, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0;
}

/* What Go reserves at its start, and ends the process where it cannot: memory that is locked as soon as it
 * is mapped (mlockall) may not be that much. */
static bool has_reservations(void)
{
	const size_t size = (size_t)1 << 31;
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at != MAP_FAILED && munmap(at, size) == 0;
}

/* Says why there is no room for Go's runtime, which would end the process: its limits (RLIMIT_AS, RLIMIT_DATA,
 * RLIMIT_NPROC) leave too little, or a filter refuses what the runtime needs. NULL: there is. */
static const char *no_room(void)
{
	if (!has_calls())
		return "a filter (seccomp) refuses system calls that the library cannot do without";
	if (!has_memory() || !has_reservations() || !has_threads())
		return "the limits of the process (ulimit -v, -d, -u) leave no room for the library";
	return NULL;
}

static atomic_bool begun, ended; /* to load Go */
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;
static struct ks_go go; /* call is NULL where Go cannot be used */
static char why_not[512] = "a child that was forked after the library was loaded";

static const struct ks_front front = {
	.path = path,
	.post = ks_post,
	.wake = ks_wake,
	.blob_new = ks_blob_new,
	.blob_unuse = ks_blob_unuse,
};

/* What one thread found. */
struct found {
	struct ks_go go;
	char why_not[sizeof why_not];
};

static void open_go(struct found *f)
{
	char file[PATH_MAX + sizeof name];

	if (path[0] == '\0') {
		snprintf(f->why_not, sizeof f->why_not, "where libkernstash.so.1 is cannot be told");
		return;
	}
	snprintf(file, sizeof file, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		const char *error = dlerror();
		snprintf(f->why_not, sizeof f->why_not, "%.500s", error != NULL ? error : name);
		return;
	}
	ks_go_start_fn *start;
	*(void **)&start = dlsym(library, "ks_go_start");
	if (start == NULL || !start(ks_private, &front, &f->go)) {
		f->go.call = NULL;
		snprintf(f->why_not, sizeof f->why_not, "%s beside libkernstash.so.1 is of another release", name);
	}
}

/* All who come meanwhile do this, and what the first one found counts: a thread that waited here for
 * one that waits for the dynamic linker could be in a constructor, for which the linker waits. */
static void load(void)
{
	struct found f = {0};
	const char *why;

	if (getauxval(AT_SECURE) != 0)
		snprintf(f.why_not, sizeof f.why_not, "the program has rights beyond its user's");
	else if ((why = no_room()) != NULL)
		snprintf(f.why_not, sizeof f.why_not, "%s", why);
	else
		open_go(&f);
	pthread_mutex_lock(&publishing);
	if (!atomic_load(&ended)) {
		go = f.go;
		memcpy(why_not, f.why_not, sizeof why_not);
		atomic_store(&ended, true);
	}
	pthread_mutex_unlock(&publishing);
	ks_watch_threads();
}

const struct ks_go *ks_loaded(void)
{
	return atomic_load_explicit(&ended, memory_order_acquire) && here->process != 0 && go.call != NULL ? &go : NULL;
}

const struct ks_go *ks_load(void)
{
	if (!ks_usable())
		return NULL;
	if (!atomic_load_explicit(&ended, memory_order_acquire)) {
		here->process = getpid();
		atomic_store(&begun, true);
		load();
	}
	return ks_loaded();
}

bool ks_usable(void)
{
	if (here == NULL)
		return false; /* before our constructor */
	if (atomic_load_explicit(&ended, memory_order_acquire))
		return ks_loaded() != NULL;
	return here->process != 0 ? here->process == getpid() : forked_alone && !atomic_load(&begun);
}

_Atomic uint32_t *ks_event(uint32_t number)
{
	return &here->events[number % (sizeof here->events / sizeof *here->events)];
}

const char *ks_why_not_loaded(void)
{
	return go.call != NULL ? "a child that was forked after the library was loaded" : why_not;
}
