/* nvvm.c: libnvvm, of CUDA 11 to 13. */
#include "../rtc/rtc.h"

#define EACH(F) \
	F(CreateProgram, RTC_CREATE) F(DestroyProgram, RTC_DESTROY) F(CompileProgram, RTC_COMPILE) \
	F(AddModuleToProgram, RTC_INPUT) F(LazyAddModuleToProgram, RTC_INPUT_TOO) \
	F(GetProgramLogSize, RTC_SIZE + LOG_PIECE) F(GetProgramLog, RTC_GET + LOG_PIECE) \
	F(GetCompiledResultSize, RTC_SIZE + RTC_RESULT) F(GetCompiledResult, RTC_GET + RTC_RESULT) \
	F(VerifyProgram, RTC_VERIFY)

#define NAME(name, f) [f] = "nvvm" #name,
#define LINKED(name, f) \
	EXPORT int nvvm##name(void *a, void *b, void *c, void *d) \
	{ \
		return rtc_call_inputs((struct rtc_caller){&api, NULL, __builtin_return_address(0)}, f, (void *const[RTC_ARGUMENTS]){a, b, c, d, NULL, NULL}); \
	}

static const struct rtc_api api = {
	.number = RTC_LIBNVVM,
	.names = {[RTC_VERSION] = "nvvmVersion", EACH(NAME)},
	.call = rtc_call_inputs,
	.refusals = {7, 9}, /* NVVM_ERROR_INVALID_OPTION, _COMPILATION */
	.missing = 5,       /* NVVM_ERROR_INVALID_PROGRAM */
};

EACH(LINKED)

static void *take(size_t name, void *real) { return rtc_take(&api, name, real); }

const struct preload_table nvvm_table = {.prefix = "nvvm", .names = api.names, .n = RTC_FUNCTIONS, .take = take};
