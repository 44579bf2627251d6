/* hiprtc.c: HIPRTC, in libamdhip64 or, from ROCm 5.4 on, also in libhiprtc. What links bitcode (hiprtcLink…) is the
 * library's own. */
#define PREFIX hiprtc
#define NUMBER RTC_HIPRTC
#define WATCHED RTC_CREATE

#define EACH_PIECE(F) F(Code, RTC_CODE) F(Bitcode, RTC_BITCODE)
#define EACH_OTHER(F)

#include "../rtc/define.h"
