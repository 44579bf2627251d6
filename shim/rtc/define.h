/* define.h: an interface: its functions, as a linked application finds them, and the table of those that are looked
 * up. Before it is included these are defined: PREFIX, of the functions' names; NUMBER and WATCHED, of struct
 * rtc_api; EACH_PIECE, the names of the pieces, and EACH_OTHER, of the other functions, without the prefix and what
 * is the same for all. */
#include "rtc.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#define EACH_ASKED(F) F(AddNameExpression, RTC_ADD) F(GetLoweredName, RTC_LOWERED) EACH_OTHER(F)

#define NAME(name, f) [f] = TEXT(PREFIX) #name,
#define NAMES(name, piece) NAME(Get##name##Size, RTC_SIZE + piece) NAME(Get##name, RTC_GET + piece)

static const struct rtc_api api = {
	.number = NUMBER,
	.names = {
		NAME(CreateProgram, RTC_CREATE) NAME(DestroyProgram, RTC_DESTROY) NAME(CompileProgram, RTC_COMPILE) NAME(Version, RTC_VERSION)
		EACH_ASKED(NAME)
		NAMES(ProgramLog, LOG_PIECE)
		EACH_PIECE(NAMES)
	},
	.watched = WATCHED,
	.call = rtc_call,
	.missing = RTC_INTERNAL_ERROR,
};

#define LINKED ((struct rtc_caller){&api, NULL, __builtin_return_address(0)})

EXPORT int JOIN(PREFIX, CreateProgram)(void **program, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes)
{
	return rtc_create(LINKED, program, source, name, nheaders, headers, includes);
}

EXPORT int JOIN(PREFIX, DestroyProgram)(void **program) { return rtc_destroy(LINKED, program); }

EXPORT int JOIN(PREFIX, CompileProgram)(void *program, int noptions, const char *const *options)
{
	return rtc_compile(LINKED, program, noptions, options);
}

#define ASKED(name, f) \
	EXPORT int JOIN(PREFIX, name)(void *program, void *a, void *b) { return rtc_ask(LINKED, f, program, a, b); }
#define PIECE(name, piece) ASKED(Get##name##Size, RTC_SIZE + piece) ASKED(Get##name, RTC_GET + piece)

EACH_ASKED(ASKED)
PIECE(ProgramLog, LOG_PIECE)
EACH_PIECE(PIECE)

static void *take(size_t name, void *real) { return rtc_take(&api, name, real); }

const struct preload_table JOIN(PREFIX, _table) = {.prefix = TEXT(PREFIX), .names = api.names, .n = RTC_FUNCTIONS, .take = take};
