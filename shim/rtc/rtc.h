/*
 * rtc.h: the interposer for run-time compilers of one make: NVRTC and HIPRTC, whose functions have the same shapes
 * and the same first error codes.
 *
 * The application's own program is made by the real library as always, and stays. Where the cache knows what its
 * compile would make it is left uncompiled, and queries are answered from what is stored. Should anything be asked
 * that this cannot answer, the real program is compiled then, and asked.
 *
 * Several libraries of one interface may be in a process, each with programs of its own: a struct rtc_library
 * stands for one. Functions that the application found by dlsym know theirs, as there is a set of them for each
 * library; those that it is linked to find it by their caller. A program that is known knows its own.
 */
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../library/library.h"
#include "../preload/preload.h"

/* Forms of code. */
enum {
	RTC_PTX, RTC_CUBIN, RTC_LTOIR, RTC_OPTIXIR, RTC_NVVM, /* NVRTC's */
	RTC_CODE, RTC_BITCODE,                                /* HIPRTC's */
	RTC_FORMS
};

enum { RTC_NVRTC = 1, RTC_HIPRTC = 2 }; /* interfaces, as the library knows them */

/* The functions of an interface. PIECES of them are pieces: what gives code, in the order of the forms, and the log. */
enum { PIECES = RTC_FORMS + 1, LOG_PIECE = RTC_FORMS, OTHERS = 6 };
enum rtc_function {
	RTC_CREATE, RTC_DESTROY, RTC_COMPILE, RTC_VERSION,
	RTC_ASKED, /* from here on: asked of a program, with two more pointers at most */
	RTC_ADD = RTC_ASKED, RTC_LOWERED,
	RTC_SIZE,                    /* of a piece */
	RTC_GET = RTC_SIZE + PIECES, /* a piece */
	RTC_OTHER = RTC_GET + PIECES, /* answered by the real one alone */
	RTC_FUNCTIONS = RTC_OTHER + OTHERS
};

/* An interface. */
struct rtc_api {
	uint32_t number;                  /* RTC_NVRTC, RTC_HIPRTC */
	const char *names[RTC_FUNCTIONS]; /* NULL: it has none such */
	enum rtc_function watched;        /* after which a program is nobody's to serve; RTC_CREATE: none */
};

/* The codes that all interfaces have in common. */
enum { RTC_INVALID_OPTION = 5, RTC_COMPILATION = 6, RTC_INTERNAL_ERROR = 11 };

enum { RTC_LIBRARIES = 8 };

struct rtc_library {
	const struct rtc_api *api; /* NULL: the slot is free */
	void *real[RTC_FUNCTIONS];
	struct stat file;          /* all 0: not known */
	bool replaced;             /* another library may be where this one was: what is known of it is not of that one */
};

/* Whoever calls a function: of a library by dlsym (library), or linked (caller). */
struct rtc_caller {
	const struct rtc_api *api;
	struct rtc_library *library; /* or NULL */
	const void *address;
};

/* libraries.c */

/* Guards the libraries and the programs, in children of a fork, too. No compiler and no library is called under it. */
extern pthread_mutex_t rtc_lock;

/* The real function that a caller means; NULL: there is none. */
void *rtc_real(const struct rtc_caller *c, enum rtc_function f);
/* The library that a caller means, or NULL. */
struct rtc_library *rtc_library_for(const struct rtc_caller *c);

/* What dlsym answers for a name of an interface: our function for the library that real is of, or real. */
void *rtc_take(const struct rtc_api *api, size_t name, void *real);

/* programs.c: the records. */

struct rtc_program {
	struct rtc_program *link;
	void *handle;
	struct rtc_library *library;
	unsigned pins;             /* who uses the record: its place in the table, calls; under rtc_lock */
	pthread_mutex_t lock;      /* of the thread that uses it; others wait */
	const char *unknown;       /* why it can not be asked for, or NULL */
	char *source, *name;
	unsigned nheaders, nexpressions, noptions;
	char **headers, **includes, **expressions;
	char **options;            /* of the compile that is answered for */
	ksf_message *answers;      /* of it: what is stored; kept until the program is gone */
	bool served;               /* answers are to be given; else the real one is asked */
	bool compiled;             /* the real one is */
	int cancel;                /* of that thread (library_uncancelled) */
};

/* The record of a program, pinned and locked: one thread at a time. NULL: none of ours. */
struct rtc_program *rtc_program_enter(void *handle);
void rtc_program_leave(struct rtc_program *p);
void rtc_program_put(struct rtc_program *p);
/* Remembers a program; copies what it is given. Without memory it is not remembered. */
void rtc_program_add(struct rtc_library *l, void *handle, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes);
/* Takes a program out of the table, with a pin; NULL: none of ours. */
struct rtc_program *rtc_program_take(void *handle);
void rtc_program_back(struct rtc_program *p); /* into it, and puts */
/* A copy of a list of strings; NULL: no memory. */
char **rtc_copy_list(const char *const *list, unsigned n);
void rtc_free_list(char **list, unsigned n);

/* calls.c: the functions. */

/* While on, programs that this thread makes are nobody's business but the compiler's: the caller is a cache itself. */
EXPORT void kernstash_rtc_aside(int on);
int rtc_create(struct rtc_caller c, void **program, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes);
int rtc_destroy(struct rtc_caller c, void **program);
int rtc_compile(struct rtc_caller c, void *program, int noptions, const char *const *options);
int rtc_ask(struct rtc_caller c, enum rtc_function f, void *program, void *a, void *b); /* from RTC_ASKED on */
