/* nvrtc.c: NVRTC, of CUDA 11 to 13. Functions that a library has not are nobody's. */
#define PREFIX nvrtc
#define NUMBER RTC_NVRTC
#define WATCHED (RTC_OTHER + 0)

#define EACH_PIECE(F) F(PTX, RTC_PTX) F(CUBIN, RTC_CUBIN) F(LTOIR, RTC_LTOIR) F(OptiXIR, RTC_OPTIXIR) F(NVVM, RTC_NVVM)
#define EACH_OTHER(F) \
	F(SetFlowCallback, RTC_OTHER + 0) F(GetPCHCreateStatus, RTC_OTHER + 1) F(GetPCHHeapSizeRequired, RTC_OTHER + 2) \
	F(GetTileIRSize, RTC_OTHER + 3) F(GetTileIR, RTC_OTHER + 4)

#include "../rtc/define.h"
