#define _GNU_SOURCE
#include "front.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the same release, and never unloaded, since Go's threads run in it. */
static const char name[] = "libkernstash-go.so.1";

/* The process that this library was loaded in, or that loads Go: another one's where a child of
 * vfork(2) looks, whose threads would end with it. The page is zero in children, however they were
 * forked (MADV_WIPEONFORK, Linux 4.14); where the kernel does not know that, pthread_atfork does it for
 * those that fork(3) made. Go's threads are gone there, and a call would hang. What fork(3) made before
 * may load Go itself, if its parent had no other thread, which may have held a lock of the dynamic
 * linker's. */
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

static void in_parent(void)
{
	forked_alone = false; /* in what is forked without handlers */
}

static void in_child(void)
{
	memset(&fallback, 0, sizeof fallback);
}

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
	ks_go_start_fn *start;
	void *library;

	if (path[0] == '\0') {
		snprintf(f->why_not, sizeof f->why_not, "where libkernstash.so.1 is cannot be told");
		return;
	}
	snprintf(file, sizeof file, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
	library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		const char *error = dlerror();
		snprintf(f->why_not, sizeof f->why_not, "%.500s", error != NULL ? error : name);
		return;
	}
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
	const char *no_room;

	if (getauxval(AT_SECURE) != 0)
		snprintf(f.why_not, sizeof f.why_not, "the program has rights beyond its user's");
	else if ((no_room = ks_no_room()) != NULL)
		snprintf(f.why_not, sizeof f.why_not, "%s", no_room);
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
