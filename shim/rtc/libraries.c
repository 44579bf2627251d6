/*
 * libraries.c: the compiler libraries of this process.
 */
#include "rtc.h"

#include <pthread.h>
#include <string.h>

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
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RTC_LIBRARIES && found == NULL; i++) {
		struct rtc_library *l = &rtc_libraries[i];
		if (l->api == api && l->real[RTC_CREATE] == all[RTC_CREATE])
			found = l; /* another thread was faster, or another library is at its place */
		else if (l->api == NULL)
			found = l;
	}
	if (found != NULL) {
		if (memcmp(found->real, all, sizeof all) != 0) {
			memcpy(found->real, all, sizeof all);
			found->major = found->minor = 0;
		}
		found->api = api;
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

void *rtc_take(const struct rtc_api *api, const char *name, void *real)
{
	for (unsigned f = 0; f < RTC_FUNCTIONS; f++) {
		if (api->names[f] == NULL || strcmp(api->names[f], name) != 0)
			continue;
		struct rtc_library *l = rtc_library_of(api, f, real);
		return l == NULL ? real : rtc_slot_function(l, f);
	}
	return real;
}
