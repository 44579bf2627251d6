/*
 * slots.c: a set of our functions for each library that may be in the process, for those
 * who look functions up: so each knows whose it is.
 */
#include "rtc.h"

#define CALLER(n) ((struct rtc_caller){rtc_libraries[n].api, &rtc_libraries[n], NULL})

#define SIZE(n, f) static int size_##n##_##f(void *p, size_t *size) { return rtc_size(CALLER(n), f, p, size); }
#define GET(n, f) static int get_##n##_##f(void *p, char *to) { return rtc_get(CALLER(n), f, p, to); }
#define OTHER(n, f) static int other_##n##_##f(void *p, void *a, void *b) { return rtc_other(CALLER(n), f, p, a, b); }

#define SLOT(n) \
	static int create_##n(void **p, const char *source, const char *name, int nh, const char *const *h, const char *const *i) \
	{ \
		return rtc_create(CALLER(n), p, source, name, nh, h, i); \
	} \
	static int destroy_##n(void **p) { return rtc_destroy(CALLER(n), p); } \
	static int add_##n(void *p, const char *e) { return rtc_add(CALLER(n), p, e); } \
	static int compile_##n(void *p, int no, const char *const *o) { return rtc_compile(CALLER(n), p, no, o); } \
	static int lowered_##n(void *p, const char *e, const char **name) { return rtc_lowered(CALLER(n), p, e, name); } \
	SIZE(n, 0) SIZE(n, 1) SIZE(n, 2) SIZE(n, 3) SIZE(n, 4) SIZE(n, 5) SIZE(n, 6) SIZE(n, 7) \
	GET(n, 0) GET(n, 1) GET(n, 2) GET(n, 3) GET(n, 4) GET(n, 5) GET(n, 6) GET(n, 7) \
	OTHER(n, 0) OTHER(n, 1) OTHER(n, 2) OTHER(n, 3) OTHER(n, 4) OTHER(n, 5)

#define PIECES_OF(n, first, what) \
	[first] = (void *)what##_##n##_0, (void *)what##_##n##_1, (void *)what##_##n##_2, (void *)what##_##n##_3, \
	(void *)what##_##n##_4, (void *)what##_##n##_5, (void *)what##_##n##_6, (void *)what##_##n##_7

#define ROW(n) \
	{ \
		[RTC_CREATE] = (void *)create_##n, [RTC_DESTROY] = (void *)destroy_##n, [RTC_ADD] = (void *)add_##n, \
		[RTC_COMPILE] = (void *)compile_##n, [RTC_LOWERED] = (void *)lowered_##n, \
		PIECES_OF(n, RTC_SIZE, size), PIECES_OF(n, RTC_GET, get), \
		[RTC_OTHER] = (void *)other_##n##_0, (void *)other_##n##_1, (void *)other_##n##_2, (void *)other_##n##_3, \
		(void *)other_##n##_4, (void *)other_##n##_5, \
	}

SLOT(0)
SLOT(1)
SLOT(2)
SLOT(3)
SLOT(4)
SLOT(5)
SLOT(6)
SLOT(7)

static void *const slots[RTC_LIBRARIES][RTC_FUNCTIONS] = {ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7)};

_Static_assert(PIECES == 8 && OTHERS == 6 && RTC_LIBRARIES == 8, "a set of functions for each");

void *rtc_slot_function(const struct rtc_library *l, enum rtc_function f) { return slots[l - rtc_libraries][f]; }
