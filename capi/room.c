//go:build linux && cgo

#define _GNU_SOURCE
#include "room.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "enter.h"
#include "kernstash.h"

/* What Go's runtime writes to, and the stacks of its threads, take by far less. */
static const uint64_t data_needed = UINT64_C(512) << 20;

/* Threads that Go makes to begin with, and some. A limit above the most of
 * these is not looked at: who has so many has others. */
enum { threads_needed = 12, threads_most = 4096 };

static bool no_room;

bool ks_has_no_room(void)
{
	return no_room;
}

/* The numbers of /proc/self/statm, which are pages; 0 where they are not told. */
static void used_pages(uint64_t *all, uint64_t *data)
{
	char text[128];
	char *at = text;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	*all = *data = 0;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	*all = strtoull(at, &at, 10);
	for (int field = 1; field <= 5; field++)
		*data = strtoull(at, &at, 10);
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

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *stand(void *unused)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return unused;
}

/* Whether as many threads as Go wants can be there at the same time: nobody tells
 * how many a user has. */
static bool has_threads(void)
{
	pthread_t threads[threads_needed];
	pthread_attr_t attributes;
	struct rlimit limit;
	int n = 0;

	if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur > threads_most)
		return true;
	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_mutex_lock(&gate);
	while (n < threads_needed && pthread_create(&threads[n], &attributes, stand, NULL) == 0)
		n++;
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
	return n == threads_needed;
}

void ks_look_for_room(void)
{
	no_room = !has_memory() || !has_threads();
}

/* What Go calls to start its runtime (-Wl,--wrap); its own ends the process where
 * there can be no thread. */
void __wrap_x_cgo_sys_thread_create(void *(*function)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (no_room)
		return;
	no_room = pthread_attr_init(&attributes) != 0;
	if (no_room)
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	no_room = pthread_create(&thread, &attributes, function, argument) != 0;
	if (!no_room)
		ks_go_thread(1);
	pthread_attr_destroy(&attributes);
}

int __real_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* What Go calls in place of sigaction (-Wl,--wrap).
 *
 * Go takes SIGURG to stop its own goroutines with, and hands no other's on. A host
 * may need each of its own: one that is written in Go would have a thread that can not
 * be stopped any more, from the one signal that is lost while our library comes into
 * its process. So Go does not get it here: it stops its goroutines where they call
 * something (asyncpreemptoff, see build), and never sends it. A runtime that is not
 * started gets no signal at all. */
int __wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return __real_sigaction(sig, sig == SIGURG || no_room ? NULL : act, old);
}
