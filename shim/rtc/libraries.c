/*
 * libraries.c: the compiler libraries of this process.
 */
#include "rtc.h"

#include <dlfcn.h>
#include <string.h>

struct rtc_library rtc_libraries[RTC_LIBRARIES];

pthread_mutex_t rtc_lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of a fork may look functions up while another thread did. */
static void before_fork(void) { pthread_mutex_lock(&rtc_lock); }

static void after_fork(void) { pthread_mutex_unlock(&rtc_lock); }

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

static struct stat file_of(const void *function)
{
	struct stat file;
	Dl_info info;
	if (dladdr(function, &info) == 0 || info.dli_fname == NULL || stat(info.dli_fname, &file) != 0)
		memset(&file, 0, sizeof file);
	return file;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino != 0 && a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

struct rtc_library *rtc_library_of(const struct rtc_api *api, enum rtc_function f, void *real)
{
	struct rtc_library *found = NULL;
	void *all[RTC_FUNCTIONS];

	if (stays_out())
		return NULL;
	pthread_mutex_lock(&rtc_lock);
	for (unsigned i = 0; i < RTC_LIBRARIES && found == NULL; i++) {
		struct rtc_library *l = &rtc_libraries[i];
		if (l->api == api && l->real[f] == real)
			found = l;
	}
	pthread_mutex_unlock(&rtc_lock);
	if (found != NULL && f != RTC_CREATE) /* who has opened one looks that up */
		return found;
	struct stat file = file_of(real);
	if (found != NULL) {
		pthread_mutex_lock(&rtc_lock);
		found->replaced = found->replaced || !same_file(&file, &found->file);
		pthread_mutex_unlock(&rtc_lock);
		return found;
	}
	preload_beside(real, api->names, RTC_FUNCTIONS, all); /* takes the dynamic linker's lock */
	if (!whole(all) || all[f] != real)
		return NULL;
	bool replaced = false;
	pthread_mutex_lock(&rtc_lock);
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
		if (memcmp(found->real, all, sizeof all) != 0) /* others read it */
			memcpy(found->real, all, sizeof all);
		found->api = api;
		found->file = file;
		found->replaced = found->replaced || replaced;
	}
	pthread_mutex_unlock(&rtc_lock);
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
