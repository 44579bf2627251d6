#define _GNU_SOURCE
#include "front.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What Go's runtime writes to, and the stacks of its threads, take by far less. */
static const uint64_t data_needed = UINT64_C(512) << 20;

/* Threads that Go makes to begin with, and some. A limit above the most of these is not
 * looked at: who has so many has others. */
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
	uint64_t all_pages, data_pages;

	if (getrlimit(RLIMIT_AS, &space) != 0)
		space.rlim_cur = RLIM_INFINITY;
	if (getrlimit(RLIMIT_DATA, &data) != 0)
		data.rlim_cur = RLIM_INFINITY;
	if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY)
		return true;
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

const char *ks_no_room(void)
{
	if (!has_calls())
		return "a filter (seccomp) refuses system calls that the library cannot do without";
	if (!has_memory() || !has_reservations() || !has_threads())
		return "the limits of the process (ulimit -v, -d, -u) leave no room for the library";
	return NULL;
}
