/* library.c: libkernstash.so, opened at the first build and never before, and the reasons to stay out. */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLOSED, OPEN, OUT };

/* The bits of the control registers that say how is calculated, where there are such
 * registers: of x87, rounding and precision, whose default is no 0; of SSE, rounding, and
 * denormals flushed or taken for zero; of ARM, AHP, DN, FZ, RMode, FZ16; NEP, AH, FIZ. */
static const struct arithmetic bits = {0x0f00, 0xe040, UINT64_C(0x7c80000) | 7}, normal = {0x0300, 0, 0};

static struct arithmetic mode(void)
{
	struct arithmetic a = normal;
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("fnstcw %0" : "=m"(a.x87));
#endif
#if defined(__x86_64__) || defined(__SSE__)
	__asm__ volatile("stmxcsr %0" : "=m"(a.sse));
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr" : "=r"(a.fpcr));
#endif
	return a;
}

/* Sets those bits, and no others. */
static void set_mode(const struct arithmetic *to)
{
	struct arithmetic a = mode();
	a.x87 = (uint16_t)((a.x87 & ~bits.x87) | (to->x87 & bits.x87));
	a.sse = (a.sse & ~bits.sse) | (to->sse & bits.sse);
	a.fpcr = (a.fpcr & ~bits.fpcr) | (to->fpcr & bits.fpcr);
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("fldcw %0" : : "m"(a.x87));
#endif
#if defined(__x86_64__) || defined(__SSE__)
	__asm__ volatile("ldmxcsr %0" : : "m"(a.sse));
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(a.fpcr));
#endif
}

const char *library_arithmetic(void)
{
	struct arithmetic a = mode();
	if ((a.x87 & bits.x87) != normal.x87 || (a.sse & bits.sse) != normal.sse || (a.fpcr & bits.fpcr) != normal.fpcr)
		return "arithmetic in a mode that is not the default";
	return NULL;
}

void library_default_arithmetic(struct arithmetic *before)
{
	*before = mode();
	if (library_arithmetic() != NULL)
		set_mode(&normal);
}

void library_arithmetic_back(const struct arithmetic *before) { set_mode(before); }

static struct stat start; /* the working directory when the shim was loaded */
static bool started;

uint32_t library_look(void)
{
	static _Atomic uint32_t found;
	static const char *const settings[] = {"igdrcl.config", "neo.config"};
	struct stat is;
	uint32_t seen = 0;
	int saved = errno;
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (lstat(settings[i], &is) == 0 || errno != ENOENT)
			seen |= KSF_SETTINGS;
	if (!started || stat(".", &is) != 0 || is.st_dev != start.st_dev || is.st_ino != start.st_ino)
		seen |= KSF_MOVED;
	errno = saved;
	return atomic_fetch_or(&found, seen) | seen;
}

__attribute__((constructor)) static void look_at_start(void)
{
	int saved = errno;
	started = stat(".", &start) == 0;
	library_look();
	errno = saved;
}

/* What would end a string of JSON, or is no text, is written as '?'. */
static void plain(char *to, size_t size, const char *text)
{
	size_t n = 0;
	for (; text[n] != 0 && n + 1 < size; n++)
		to[n] = (unsigned char)text[n] < ' ' || text[n] == '"' || text[n] == '\\' ? '?' : text[n];
	to[n] = 0;
}

void report(const char *event, const char *name, const char *value)
{
	char line[512], safe[384];
	const char *file = secure_getenv("KERNSTASH_REPORT");
	if (file == NULL || *file == 0)
		return;
	plain(safe, sizeof(safe), value);
	int n = snprintf(line, sizeof(line), "{\"event\":\"%s\",\"pid\":%d,\"%s\":\"%s\"}\n", event, (int)getpid(), name, safe);
	if (n < 0 || (size_t)n >= sizeof(line))
		return;
	int saved = errno;
	/* Whoever made the file removes it when nobody is to write any more. No link is followed but one of /proc to the memory
	 * of a run: who outlives a run finds another process there, or none. */
	static const char memory[] = "/memfd:kernstash-report";
	char target[sizeof(memory) - 1];
	bool linked = strncmp(file, "/proc/", 6) == 0 && readlink(file, target, sizeof(target)) == (ssize_t)sizeof(target) &&
		memcmp(target, memory, sizeof(target)) == 0;
	int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (linked ? 0 : O_NOFOLLOW));
	struct stat is;
	struct rlimit most; /* a write beyond it ends the process */
	if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && getrlimit(RLIMIT_FSIZE, &most) == 0 &&
		(rlim_t)is.st_size + (rlim_t)n <= most.rlim_cur) {
		/* A report that can not be written is none; nothing else can be done. */
		ssize_t written = write(fd, line, (size_t)n);
		(void)written;
	}
	if (fd >= 0)
		close(fd);
	errno = saved;
}

bool same_object(const void *a, const void *b)
{
	Dl_info its, others;
	return dladdr(a, &its) != 0 && dladdr(b, &others) != 0 && its.dli_fbase == others.dli_fbase;
}

static const char here;

bool is_ours(const void *function) { return same_object(&here, function); }

void *object_of(const void *address, bool program_too)
{
	Dl_info info;
	struct link_map *map;
	if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_name == NULL)
		return NULL;
	bool program = map->l_name[0] == 0;
	return program && !program_too ? NULL : dlopen(program ? NULL : map->l_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

/* The words that mean it. One that makes no sense is the library's to tell of, which then stays out. */
static bool switched_off(void)
{
	static const char *const words[] = {"1", "true", "yes", "on"};
	const char *off = getenv("KERNSTASH_DISABLE");
	for (size_t i = 0; off != NULL && i < sizeof(words) / sizeof(*words); i++)
		if (strcasecmp(off, words[i]) == 0)
			return true;
	return false;
}

const char *library_unwanted(void)
{
	if (getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid())
		return "set-uid";
	return switched_off() ? "KERNSTASH_DISABLE" : NULL;
}

/* Another thread may have opened the library for the front end meanwhile: the first counts. */
static const ksf_api *stay_out(struct library_front *d, const char *reason)
{
	int closed = CLOSED;
	if (atomic_compare_exchange_strong(&d->state, &closed, OUT))
		report("out", "reason", reason);
	return library_opened(d);
}

/* Beside the shim, or where the environment says. */
static bool library_path(char *path, size_t size)
{
	const char *named = secure_getenv("KERNSTASH_LIBRARY");
	if (named != NULL && *named == '/')
		return (size_t)snprintf(path, size, "%s", named) < size;
	Dl_info info;
	char real[PATH_MAX];
	if (dladdr(&here, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, real) == NULL)
		return false;
	return (size_t)snprintf(path, size, "%.*s/libkernstash.so.1", (int)(strrchr(real, '/') - real), real) < size;
}

/* A compiler may recover from its own crashes: IGC 2 makes errors of them. It has handlers for them while it
 * compiles, but where somebody else has one it leaves the signal alone: the library's runtime, which the
 * application knows nothing of, and its crash would end the process. So the runtime's handlers are away
 * meanwhile, where nobody had one before the library came; it does without unless it is wrong itself. */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE};
enum { CRASHES = sizeof(crashes) / sizeof(*crashes) };

static atomic_int nobodys = -1; /* the bits of those that were nobody's before the library was opened; -1: not noted */
static const void *_Atomic handler; /* the library's, which is one for all of them; NULL: it has none, or is not open */

static const void *handler_of(const struct sigaction *a) { return *(void *const *)&a->sa_handler; }

static bool is_nobodys(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) == 0 && a->sa_handler == SIG_DFL;
}

/* Not where another shim of this process has opened it: then they may be the library's. For
 * a second front end of this one they have been noted. */
static void note_crashes(const char *path)
{
	char runtime[PATH_MAX + sizeof("libkernstash-go.so.1")] = "";
	int unknown = -1, noted = 0;
	if (atomic_load(&nobodys) != unknown)
		return;
	if (realpath(path, runtime) != NULL && strrchr(runtime, '/') != NULL)
		strcpy(strrchr(runtime, '/') + 1, "libkernstash-go.so.1"); /* beside the library */
	void *open = dlopen(runtime, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	struct sigaction now;
	for (int i = 0; i < CRASHES; i++)
		if (open == NULL && sigaction(crashes[i], NULL, &now) == 0 && is_nobodys(&now))
			noted |= 1 << i;
	if (open != NULL)
		dlclose(open);
	atomic_compare_exchange_strong(&nobodys, &unknown, noted);
}

static pthread_mutex_t crashes_lock = PTHREAD_MUTEX_INITIALIZER;
static int compiling;
static struct sigaction away[CRASHES];
static bool is_away[CRASHES];

/* Under the lock. */
static void put_away(void)
{
	const struct sigaction nothing = {.sa_handler = SIG_DFL};
	struct sigaction now;
	const void *librarys = atomic_load(&handler);
	for (int i = 0; i < CRASHES && librarys != NULL; i++)
		if (!is_away[i] && (atomic_load(&nobodys) & 1 << i) != 0 && sigaction(crashes[i], NULL, &now) == 0)
			is_away[i] = handler_of(&now) == librarys && sigaction(crashes[i], &nothing, &away[i]) == 0;
}

/* Under the lock. */
static void put_back(void)
{
	struct sigaction now;
	for (int i = 0; i < CRASHES; i++) {
		if (is_away[i] && sigaction(crashes[i], NULL, &now) == 0 && is_nobodys(&now)) /* else it is somebody's by now */
			sigaction(crashes[i], &away[i], NULL);
		is_away[i] = false;
	}
}

void library_compiles(bool begins)
{
	int saved = errno;
	pthread_mutex_lock(&crashes_lock);
	if (begins) {
		compiling++;
		put_away();
	} else if (compiling > 0 && --compiling == 0) {
		put_back();
	}
	pthread_mutex_unlock(&crashes_lock);
	errno = saved;
}

/* The library was opened, maybe while another thread compiles. What the linker says of addresses is asked before the
 * lock is taken: this may be a constructor, for which all others wait who ask the linker. */
static void find_handler(const void *somewhere)
{
	struct sigaction now;
	for (int i = 0; i < CRASHES; i++)
		if (sigaction(crashes[i], NULL, &now) == 0 && same_object(handler_of(&now), somewhere))
			atomic_store(&handler, handler_of(&now));
	pthread_mutex_lock(&crashes_lock);
	if (compiling > 0)
		put_away();
	pthread_mutex_unlock(&crashes_lock);
}

static const ksf_api *open_library(struct library_front *d)
{
	char path[PATH_MAX];
	const char *unwanted = library_unwanted();
	if (unwanted != NULL)
		return stay_out(d, unwanted);
	/* It takes a Go runtime's stacks for errors, thousands of them. */
	const char *preloaded = getenv("LD_PRELOAD");
	if (preloaded != NULL && strstr(preloaded, "/vgpreload_") != NULL)
		return stay_out(d, "valgrind");
	if (!library_path(path, sizeof(path)))
		return stay_out(d, "library not found");
	note_crashes(path);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		return stay_out(d, access(path, F_OK) == 0 ? "library not loadable" : "library not found");
	const ksf_api *(*get)(uint32_t, const char *, uint32_t *);
	const void *(*runtime)(void), *at = NULL;
	*(void **)&get = dlsym(handle, "kernstash_front");
	*(void **)&runtime = dlsym(handle, "kernstash_runtime");
	if (runtime != NULL && (at = runtime()) == NULL)
		return stay_out(d, "no room for the library's runtime (limits, a filter), or no libkernstash-go.so.1 beside it");
	if (at != NULL)
		find_handler(at); /* it is here now, whatever get answers */
	uint32_t front = 0;
	const ksf_api *found = get == NULL ? NULL : get(KSF_ABI, d->runtime, &front);
	if (found == NULL || found->abi != KSF_ABI || found->size < sizeof(*found))
		return stay_out(d, "library of another release, or off");
	atomic_store(&d->front, front);
	atomic_store(&d->functions, found);
	int closed = CLOSED;
	atomic_compare_exchange_strong(&d->state, &closed, OPEN);
	return library_opened(d);
}

static atomic_int opener;  /* the process that opens the library, or has; 0: none */
static atomic_bool forked; /* from one that did */

static void in_child(void)
{
	if (atomic_load(&opener) != 0)
		atomic_store(&forked, true);
	/* The threads that compiled, or had the lock, are not here. */
	pthread_mutex_init(&crashes_lock, NULL);
	compiling = 0;
}

static void guard_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* Whether the library, or half of it, which a thread of the parent's was opening, is of no use
 * here. A child made by the bare system call has run no handler. */
static bool is_forked(void)
{
	int by = atomic_load(&opener);
	return atomic_load(&forked) || (by != 0 && by != (int)getpid());
}

const ksf_api *library_opened(struct library_front *d)
{
	return atomic_load(&d->state) == OPEN && !is_forked() ? atomic_load(&d->functions) : NULL;
}

int library_uncancelled(void)
{
	int before = PTHREAD_CANCEL_ENABLE;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

void library_cancelled(int before) { pthread_setcancelstate(before, NULL); }

/* All who come while the library is being opened open it, and what the first one found counts: one that waited here
 * for another, which waits for the dynamic linker, could be in a constructor, for which the linker waits. */
static const ksf_api *open_once(struct library_front *d)
{
	if (atomic_load(&d->state) == OUT)
		return NULL;
	if (is_forked()) { /* and the parent's may be open */
		if (atomic_exchange(&d->state, OUT) != OUT)
			report("out", "reason", "forked after the library was opened");
		return NULL;
	}
	int saved = errno, before = atomic_exchange(&opener, (int)getpid());
	const ksf_api *found = open_library(d);
	if (found == NULL)
		atomic_store(&opener, before);
	errno = saved;
	return found;
}

const ksf_api *library_open(struct library_front *d)
{
	const ksf_api *found = library_opened(d);
	if (found != NULL)
		return found;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, guard_forks);
	int before = library_uncancelled();
	found = open_once(d);
	library_cancelled(before);
	return found;
}
