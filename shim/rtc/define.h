/*
 * define.h: the functions of one interface, as a linked application finds them, and the
 * table for those that are looked up. Before it is included PREFIX is defined, the
 * prefix of the functions' names, and API, a const struct rtc_api.
 */
#include "rtc.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define LINKED ((struct rtc_caller){&API, NULL, __builtin_return_address(0)})

EXPORT int JOIN(PREFIX, CreateProgram)(void **program, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes)
{
	return rtc_create(LINKED, program, source, name, nheaders, headers, includes);
}

EXPORT int JOIN(PREFIX, DestroyProgram)(void **program) { return rtc_destroy(LINKED, program); }

EXPORT int JOIN(PREFIX, AddNameExpression)(void *program, const char *expression)
{
	return rtc_add(LINKED, program, expression);
}

EXPORT int JOIN(PREFIX, CompileProgram)(void *program, int noptions, const char *const *options)
{
	return rtc_compile(LINKED, program, noptions, options);
}

EXPORT int JOIN(PREFIX, GetLoweredName)(void *program, const char *expression, const char **name)
{
	return rtc_lowered(LINKED, program, expression, name);
}

#define PIECE(name, piece) \
	EXPORT int JOIN(PREFIX, Get##name##Size)(void *program, size_t *size) { return rtc_size(LINKED, piece, program, size); } \
	EXPORT int JOIN(PREFIX, Get##name)(void *program, char *to) { return rtc_get(LINKED, piece, program, to); }

#define REST(name, other) \
	EXPORT int name(void *program, void *a, void *b) { return rtc_other(LINKED, other, program, a, b); }

PIECE(ProgramLog, LOG_PIECE)
