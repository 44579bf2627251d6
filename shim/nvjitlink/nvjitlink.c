/* nvjitlink.c: nvJitLink, of CUDA 12 and 13. A library is one of its own under each version's names. */
#include "../rtc/rtc.h"
#include "versions.h"

#define SIZED(F, p, v, name, piece) F(p, v, Get##name##Size, RTC_SIZE + piece) F(p, v, Get##name, RTC_GET + piece)
#define EACH(F, p, v) \
	F(p, v, Create, RTC_CREATE) F(p, v, Destroy, RTC_DESTROY) F(p, v, Complete, RTC_COMPILE) \
	F(p, v, AddData, RTC_INPUT) F(p, v, AddFile, RTC_INPUT_TOO) \
	SIZED(F, p, v, InfoLog, LOG_PIECE) SIZED(F, p, v, ErrorLog, RTC_ERROR_LOG) \
	SIZED(F, p, v, LinkedCubin, RTC_LINKED_CUBIN) SIZED(F, p, v, LinkedPtx, RTC_LINKED_PTX) \
	F(p, v, GetLinkedLTOIRSize, RTC_OTHER + 0) F(p, v, GetLinkedLTOIR, RTC_OTHER + 1)

#define NAME(p, v, name, f) [f] = #p #name #v,
#define LINKED(p, v, name, f) \
	EXPORT int p##name##v(void *a, void *b, void *c, void *d, void *e) \
	{ \
		return rtc_call_inputs((struct rtc_caller){&api##v, NULL, __builtin_return_address(0)}, f, (void *const[RTC_ARGUMENTS]){a, b, c, d, e, NULL}); \
	}

#define INTERFACE(p, v) \
	static const struct rtc_api api##v = { \
		.number = RTC_NVJITLINK, \
		.names = {[RTC_VERSION] = "nvJitLinkVersion", EACH(NAME, p, v)}, \
		.call = rtc_call_inputs, \
		.refusals = {4, 5}, /* NVJITLINK_ERROR_PTX_COMPILE, _NVVM_COMPILE */ \
		.missing = 6,       /* NVJITLINK_ERROR_INTERNAL */ \
	}; \
	EACH(LINKED, p, v) \
	static void *take##v(size_t name, void *real) { return rtc_take(&api##v, name, real); } \
	const struct preload_table nvjitlink##v##_table = {.prefix = #p, .names = api##v.names, .n = RTC_FUNCTIONS, .take = take##v};

INTERFACE(nvJitLink, )
#define VERSION(v) INTERFACE(__nvJitLink, v)
NVJITLINK_VERSIONS(VERSION)
