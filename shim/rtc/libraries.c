/* libraries.c: the compiler libraries of this process. */
#include "rtc.h"

#include <dlfcn.h>

static struct rtc_library libraries[RTC_LIBRARIES];

pthread_mutex_t rtc_lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of a fork may look functions up while another thread did. */
static void before_fork(void) { pthread_mutex_lock(&rtc_lock); }

static void after_fork(void) { pthread_mutex_unlock(&rtc_lock); }

static const char *unwanted;

static void look(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
	unwanted = library_unwanted();
	if (unwanted != NULL)
		report("out", "reason", unwanted);
}

static bool stays_out(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, look);
	return unwanted != NULL;
}

/* What a library has to have; else it is none of the kind that is known. */
static bool whole(const struct rtc_api *api, void *const real[RTC_FUNCTIONS])
{
	return (real[RTC_INPUT] || !api->names[RTC_INPUT]) && real[RTC_CREATE] && real[RTC_DESTROY] && real[RTC_COMPILE] && real[RTC_VERSION] &&
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

/* The library that a real function is of; NULL: there are too many, or we stay out. */
static struct rtc_library *library_of(const struct rtc_api *api, enum rtc_function f, void *real)
{
	struct rtc_library *found = NULL;
	void *all[RTC_FUNCTIONS];

	if (stays_out())
		return NULL;
	pthread_mutex_lock(&rtc_lock);
	for (unsigned i = 0; i < RTC_LIBRARIES && found == NULL; i++) {
		struct rtc_library *l = &libraries[i];
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
	if (!whole(api, all) || all[f] != real)
		return NULL;
	bool replaced = false;
	pthread_mutex_lock(&rtc_lock);
	for (unsigned i = 0; i < RTC_LIBRARIES && found == NULL; i++) {
		struct rtc_library *l = &libraries[i];
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
	if (c->library != NULL)
		return c->library;
	void *real = rtc_real(c, RTC_CREATE);
	return real == NULL ? NULL : library_of(c->api, RTC_CREATE, real);
}

/* A set of our functions for each library that may be in the process, for who looks functions up: it knows its own. */
#define CALLER(n) ((struct rtc_caller){libraries[n].api, &libraries[n], NULL})

/* A function of six registers may be called as one of fewer. */
#define FUNCTION(n, f) \
	static int function_##n##_##f(void *a, void *b, void *c, void *d, void *e, void *g) \
	{ \
		return libraries[n].api->call(CALLER(n), f, (void *const[RTC_ARGUMENTS]){a, b, c, d, e, g}); \
	}
#define POINTER(n, f) (void *)function_##n##_##f,
#define EACH(F, n) \
	F(n, 0) F(n, 1) F(n, 2) F(n, 3) F(n, 4) F(n, 5) F(n, 6) F(n, 7) F(n, 8) F(n, 9) F(n, 10) F(n, 11) \
	F(n, 12) F(n, 13) F(n, 14) F(n, 15) F(n, 16) F(n, 17) F(n, 18) F(n, 19) F(n, 20) F(n, 21) F(n, 22) F(n, 23) \
	F(n, 24) F(n, 25) F(n, 26) F(n, 27) F(n, 28) F(n, 29) F(n, 30) F(n, 31) F(n, 32) F(n, 33) F(n, 34) F(n, 35) \
	F(n, 36) F(n, 37)

#define SLOT(n) EACH(FUNCTION, n)
#define ROW(n) {EACH(POINTER, n)},
#define EACH_SLOT(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)

EACH_SLOT(SLOT)

static void *const slots[RTC_LIBRARIES][RTC_FUNCTIONS] = {EACH_SLOT(ROW)};

_Static_assert(RTC_FUNCTIONS == 38 && RTC_LIBRARIES == 16, "a set of functions for each");

void *rtc_take(const struct rtc_api *api, size_t name, void *real)
{
	struct rtc_library *l = name == RTC_VERSION ? NULL : library_of(api, (enum rtc_function)name, real);
	return l == NULL ? real : slots[l - libraries][name];
}
