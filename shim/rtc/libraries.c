/*
 * libraries.c: the compiler libraries of this process.
 */
#include "rtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

struct rtc_library rtc_libraries[RTC_LIBRARIES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of a fork may look functions up while another thread did. */
static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

static bool unwanted;

static void look(void)
{
	const char *reason;
	pthread_atfork(before_fork, after_fork, after_fork);
	unwanted = library_unwanted(&reason);
	if (unwanted)
		report("out", "reason", reason);
}

static bool stays_out(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, look);
	return unwanted;
}

/* What a library has to have; else it is none of the kind that is known. */
static bool whole(void *const real[RTC_FUNCTIONS])
{
	return real[RTC_CREATE] && real[RTC_DESTROY] && real[RTC_COMPILE] && real[RTC_VERSION] &&
		real[RTC_SIZE + LOG_PIECE] && real[RTC_GET + LOG_PIECE];
}

static struct rtc_file file_of(const void *function)
{
	struct rtc_file f;
	struct stat is;
	Dl_info info;
	memset(&f, 0, sizeof f);
	if (dladdr(function, &info) != 0 && info.dli_fname != NULL && stat(info.dli_fname, &is) == 0) {
		f.device = is.st_dev;
		f.inode = is.st_ino;
		f.size = is.st_size;
		f.modified = is.st_mtim;
	}
	return f;
}

static bool same_file(const struct rtc_file *a, const struct rtc_file *b)
{
	return a->inode != 0 && a->device == b->device && a->inode == b->inode && a->size == b->size &&
		a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

/* Looks whether what is known of a library is of the one that is at its place now. */
static void look_again(struct rtc_library *l, const void *real)
{
	struct rtc_file f = file_of(real);
	pthread_mutex_lock(&lock);
	if (!same_file(&f, &l->file))
		l->replaced = true;
	pthread_mutex_unlock(&lock);
}

struct rtc_library *rtc_library_of(const struct rtc_api *api, enum rtc_function f, void *real)
{
	struct rtc_library *found = NULL;
	void *all[RTC_FUNCTIONS];
	const char *names[RTC_FUNCTIONS];

	if (stays_out())
		return NULL;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RTC_LIBRARIES && found == NULL; i++) {
		struct rtc_library *l = &rtc_libraries[i];
		if (l->api == api && l->real[f] == real)
			found = l;
	}
	pthread_mutex_unlock(&lock);
	if (found != NULL && f == RTC_CREATE) /* who has opened it looks that up */
		look_again(found, real);
	if (found != NULL)
		return found;
	for (unsigned i = 0; i < RTC_FUNCTIONS; i++)
		names[i] = api->names[i] != NULL ? api->names[i] : "";
	preload_beside(real, names, RTC_FUNCTIONS, all); /* takes the dynamic linker's lock */
	for (unsigned i = 0; i < RTC_FUNCTIONS; i++)
		if (names[i][0] == 0)
			all[i] = NULL;
	if (!whole(all) || all[f] != real)
		return NULL;
	struct rtc_file file = file_of(real);
	bool replaced = false;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RTC_LIBRARIES && found == NULL; i++) {
		struct rtc_library *l = &rtc_libraries[i];
		if (l->api == api && l->real[RTC_CREATE] == all[RTC_CREATE])
			found = l; /* another thread was faster, or another library is at its place */
		else if (l->api == NULL)
			found = l;
		/* What compiles is what the library knows it by. */
		if (l->api != NULL && l->real[RTC_COMPILE] == all[RTC_COMPILE] && !same_file(&l->file, &file))
			replaced = true;
	}
	if (found != NULL) {
		if (memcmp(found->real, all, sizeof all) != 0) {
			memcpy(found->real, all, sizeof all);
			found->major = found->minor = 0;
		}
		found->api = api;
		found->file = file;
		found->replaced = found->replaced || replaced;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void *rtc_real(const struct rtc_caller *c, enum rtc_function f)
{
	if (c->library != NULL)
		return c->library->real[f];
	return c->api->names[f] == NULL ? NULL : preload_behind(c->address, c->api->names[f]);
}

struct rtc_library *rtc_library_for(const struct rtc_caller *c)
{
	void *real;
	if (c->library != NULL)
		return c->library;
	real = rtc_real(c, RTC_CREATE);
	return real == NULL ? NULL : rtc_library_of(c->api, RTC_CREATE, real);
}

void *rtc_take(const struct rtc_api *api, size_t name, void *real)
{
	struct rtc_library *l = name == RTC_VERSION ? NULL : rtc_library_of(api, (enum rtc_function)name, real);
	return l == NULL ? real : rtc_slot_function(l, (enum rtc_function)name);
}
