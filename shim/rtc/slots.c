/*
 * slots.c: a set of our functions for each library that may be in the process, for those
 * who look functions up: so each knows whose it is.
 */
#include "rtc.h"

#define CALLER(n) ((struct rtc_caller){rtc_libraries[n].api, &rtc_libraries[n], NULL})

#define ASKED(n, f) static int asked_##n##_##f(void *p, void *a, void *b) { return rtc_ask(CALLER(n), RTC_ASKED + f, p, a, b); }
#define POINTER(n, f) (void *)asked_##n##_##f,
#define EACH(F, n) \
	F(n, 0) F(n, 1) F(n, 2) F(n, 3) F(n, 4) F(n, 5) F(n, 6) F(n, 7) F(n, 8) F(n, 9) F(n, 10) F(n, 11) \
	F(n, 12) F(n, 13) F(n, 14) F(n, 15) F(n, 16) F(n, 17) F(n, 18) F(n, 19) F(n, 20) F(n, 21) F(n, 22) F(n, 23)

#define SLOT(n) \
	static int create_##n(void **p, const char *source, const char *name, int nh, const char *const *h, const char *const *i) \
	{ \
		return rtc_create(CALLER(n), p, source, name, nh, h, i); \
	} \
	static int destroy_##n(void **p) { return rtc_destroy(CALLER(n), p); } \
	static int compile_##n(void *p, int no, const char *const *o) { return rtc_compile(CALLER(n), p, no, o); } \
	EACH(ASKED, n)

#define ROW(n) \
	{ \
		[RTC_CREATE] = (void *)create_##n, [RTC_DESTROY] = (void *)destroy_##n, [RTC_COMPILE] = (void *)compile_##n, \
		[RTC_ASKED] = EACH(POINTER, n) \
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

_Static_assert(RTC_FUNCTIONS - RTC_ASKED == 24 && RTC_LIBRARIES == 8, "a set of functions for each");

void *rtc_slot_function(const struct rtc_library *l, enum rtc_function f) { return slots[l - rtc_libraries][f]; }
