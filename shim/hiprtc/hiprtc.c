/*
 * hiprtc.c: HIPRTC, in libamdhip64 or, from ROCm 5.4 on, also in libhiprtc. What links
 * bitcode (hiprtcLink…) is the library's own.
 */
#define PREFIX hiprtc
#define API hiprtc_api

#include "../rtc/rtc.h"

static const struct rtc_api hiprtc_api = {
	.number = RTC_HIPRTC,
	.names = {
		[RTC_CREATE] = "hiprtcCreateProgram", [RTC_DESTROY] = "hiprtcDestroyProgram", [RTC_ADD] = "hiprtcAddNameExpression",
		[RTC_COMPILE] = "hiprtcCompileProgram", [RTC_LOWERED] = "hiprtcGetLoweredName", [RTC_VERSION] = "hiprtcVersion",
		[RTC_SIZE + RTC_CODE] = "hiprtcGetCodeSize", [RTC_GET + RTC_CODE] = "hiprtcGetCode",
		[RTC_SIZE + RTC_BITCODE] = "hiprtcGetBitcodeSize", [RTC_GET + RTC_BITCODE] = "hiprtcGetBitcode",
		[RTC_SIZE + LOG_PIECE] = "hiprtcGetProgramLogSize", [RTC_GET + LOG_PIECE] = "hiprtcGetProgramLog",
	},
	.errors = {6, 5}, /* HIPRTC_ERROR_COMPILATION, HIPRTC_ERROR_INVALID_OPTION */
	.broken = 11,     /* HIPRTC_ERROR_INTERNAL_ERROR */
	.watched = -1,
};

#include "../rtc/define.h"

PIECE(Code, RTC_CODE)
PIECE(Bitcode, RTC_BITCODE)

static void *take(size_t name, void *real) { return rtc_take(&hiprtc_api, name, real); }

extern const struct preload_table hiprtc_table;
const struct preload_table hiprtc_table = {.names = hiprtc_api.names, .n = RTC_FUNCTIONS, .take = take};
