/*
 * nvrtc.c: NVRTC, of CUDA 11 to 13. Functions that a library has not are nobody's.
 */
#define PREFIX nvrtc
#define API nvrtc_api

#include "../rtc/rtc.h"

static const struct rtc_api nvrtc_api = {
	.number = RTC_NVRTC,
	.names = {
		[RTC_CREATE] = "nvrtcCreateProgram", [RTC_DESTROY] = "nvrtcDestroyProgram", [RTC_ADD] = "nvrtcAddNameExpression",
		[RTC_COMPILE] = "nvrtcCompileProgram", [RTC_LOWERED] = "nvrtcGetLoweredName", [RTC_VERSION] = "nvrtcVersion",
		[RTC_SIZE + RTC_PTX] = "nvrtcGetPTXSize", [RTC_GET + RTC_PTX] = "nvrtcGetPTX",
		[RTC_SIZE + RTC_CUBIN] = "nvrtcGetCUBINSize", [RTC_GET + RTC_CUBIN] = "nvrtcGetCUBIN",
		[RTC_SIZE + RTC_LTOIR] = "nvrtcGetLTOIRSize", [RTC_GET + RTC_LTOIR] = "nvrtcGetLTOIR",
		[RTC_SIZE + RTC_OPTIXIR] = "nvrtcGetOptiXIRSize", [RTC_GET + RTC_OPTIXIR] = "nvrtcGetOptiXIR",
		[RTC_SIZE + RTC_NVVM] = "nvrtcGetNVVMSize", [RTC_GET + RTC_NVVM] = "nvrtcGetNVVM",
		[RTC_SIZE + LOG_PIECE] = "nvrtcGetProgramLogSize", [RTC_GET + LOG_PIECE] = "nvrtcGetProgramLog",
		[RTC_OTHER + 0] = "nvrtcSetFlowCallback", [RTC_OTHER + 1] = "nvrtcGetPCHCreateStatus",
		[RTC_OTHER + 2] = "nvrtcGetPCHHeapSizeRequired", [RTC_OTHER + 3] = "nvrtcGetTileIRSize",
		[RTC_OTHER + 4] = "nvrtcGetTileIR",
	},
	.errors = {6, 5}, /* NVRTC_ERROR_COMPILATION, NVRTC_ERROR_INVALID_OPTION */
	.broken = 11,     /* NVRTC_ERROR_INTERNAL_ERROR */
	.watched = 0,
};

#include "../rtc/define.h"

PIECE(PTX, RTC_PTX)
PIECE(CUBIN, RTC_CUBIN)
PIECE(LTOIR, RTC_LTOIR)
PIECE(OptiXIR, RTC_OPTIXIR)
PIECE(NVVM, RTC_NVVM)
REST(nvrtcSetFlowCallback, 0)
REST(nvrtcGetPCHCreateStatus, 1)
REST(nvrtcGetPCHHeapSizeRequired, 2)
REST(nvrtcGetTileIRSize, 3)
REST(nvrtcGetTileIR, 4)

static void *take(size_t name, void *real) { return rtc_take(&nvrtc_api, name, real); }

extern const struct preload_table nvrtc_table;
const struct preload_table nvrtc_table = {.names = nvrtc_api.names, .n = RTC_FUNCTIONS, .take = take};
