/*
 * rtc.h: the interposer for run-time compilers of one make: NVRTC and HIPRTC, whose functions have the same shapes
 * and the same first error codes; and for those that are given inputs one by one, nvJitLink and libnvvm (inputs.c).
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
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../library/library.h"
#include "../preload/preload.h"

/* Forms of code. */
enum {
	RTC_PTX, RTC_CUBIN, RTC_LTOIR, RTC_OPTIXIR, RTC_NVVM, /* NVRTC's */
	RTC_CODE, RTC_BITCODE,                                /* HIPRTC's */
	RTC_LINKED_CUBIN, RTC_LINKED_PTX, RTC_ERROR_LOG,      /* nvJitLink's, and its second log */
	RTC_RESULT,                                           /* libnvvm's */
	RTC_FORMS
};

enum { RTC_NVRTC = 1, RTC_HIPRTC = 2, RTC_NVJITLINK = 3, RTC_LIBNVVM = 4 }; /* interfaces, as the library knows them */

/* The functions of an interface. PIECES of them are pieces: what gives code, in the order of the forms, and the log. */
enum { PIECES = RTC_FORMS + 1, LOG_PIECE = RTC_FORMS, OTHERS = 6 };
enum rtc_function {
	RTC_CREATE, RTC_DESTROY, RTC_COMPILE, RTC_VERSION,
	RTC_INPUT, RTC_INPUT_TOO,    /* another way to add an input: of a file, or one that is looked into at need */
	RTC_ASKED, /* from here on: asked of a program, with two more pointers at most */
	RTC_ADD = RTC_ASKED, RTC_LOWERED,
	RTC_SIZE,                    /* of a piece */
	RTC_GET = RTC_SIZE + PIECES, /* a piece */
	RTC_OTHER = RTC_GET + PIECES, /* answered by the real one alone */
	RTC_VERIFY = RTC_OTHER,       /* libnvvm's */
	RTC_FUNCTIONS = RTC_OTHER + OTHERS
};

enum { RTC_ARGUMENTS = 6 }; /* that a function has at most: integers and pointers, one register each */

struct rtc_caller;

/* An interface. */
struct rtc_api {
	uint32_t number;                  /* RTC_NVRTC, ... */
	const char *names[RTC_FUNCTIONS]; /* NULL: it has none such */
	enum rtc_function watched;        /* after which a program is nobody's to serve; RTC_CREATE: none */
	int (*call)(struct rtc_caller c, enum rtc_function f, void *const a[RTC_ARGUMENTS]);
	int refusals[2];                  /* the codes with which it refuses a program, or its options */
	int missing;                      /* the code for a function that is not there */
};

/* The codes that NVRTC and HIPRTC have in common. */
enum { RTC_INVALID_OPTION = 5, RTC_COMPILATION = 6, RTC_INTERNAL_ERROR = 11 };

enum { RTC_LIBRARIES = 16 };

struct rtc_library {
	const struct rtc_api *api; /* NULL: the slot is free */
	void *real[RTC_FUNCTIONS];
	struct stat file;          /* all 0: not known */
	bool replaced;             /* another library may be where this one was: what is known of it is not of that one */
	atomic_bool restricted;    /* it has compiled with --restrict: see restricts */
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

struct rtc_input {
	uint32_t kind;             /* by the library's numbers */
	bool too;                  /* added by RTC_INPUT_TOO */
	char *name;                /* or NULL */
	char *data;                /* of size bytes, with a NUL behind them */
	size_t size;
};

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
	bool compiled;             /* the real one is; of a program with inputs: the application has had that */
	struct rtc_input *inputs;  /* in order */
	unsigned ninputs, given;   /* so many of them the real one has */
	bool owed;                 /* the real one is to be compiled before it is asked anything */
	uint64_t added;            /* when the first input was */
	size_t asked;              /* bytes of the inputs of all requests */
	int cancel;                /* of that thread (library_uncancelled) */
};

/* The record of a program, pinned and locked: one thread at a time. NULL: none of ours. */
struct rtc_program *rtc_program_enter(void *handle);
void rtc_program_leave(struct rtc_program *p);
void rtc_program_put(struct rtc_program *p);
/* Remembers a program; copies what it is given. Without memory it is not remembered. */
void rtc_program_add(struct rtc_library *l, void *handle, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes);
/* The same of one that is made by the caller, with its lists: it is the table's now. */
void rtc_program_insert(struct rtc_library *l, void *handle, struct rtc_program *p);
/* Takes a program out of the table, with a pin; NULL: none of ours. */
struct rtc_program *rtc_program_take(void *handle);
void rtc_program_back(struct rtc_program *p); /* into it, and puts */
/* A copy of a list of strings; NULL: no memory. */
char **rtc_copy_list(const char *const *list, unsigned n);
void rtc_free_list(char **list, unsigned n);

/* calls.c: the functions. */

/* While on, programs that this thread makes are nobody's business but the compiler's: the caller is a cache itself. */
EXPORT void kernstash_rtc_aside(int on);
/* The program's record, locked, or NULL; and the real function, of its library or the caller's. */
struct rtc_program *rtc_enter(struct rtc_caller *c, enum rtc_function f, void *program, void *real);
void rtc_passed(const struct rtc_api *api, const char *reason);
bool rtc_aside(void);
extern struct library_front rtc_front_end;
/* Whether the options are strings, which the compiler may see otherwise. */
bool rtc_are_options(int n, const char *const *options);
void rtc_add_all(struct message *m, uint32_t tag, char *const *texts, unsigned n);
void rtc_add_library(struct message *m, const struct rtc_program *p, uint32_t detail); /* KSF_FUNCTION, KSF_VERSION */
/* Remembers a name expression, which the real program has taken. */
void rtc_add_expression(struct rtc_program *p, const char *expression);
int rtc_call(struct rtc_caller c, enum rtc_function f, void *const a[RTC_ARGUMENTS]); /* any function */
int rtc_create(struct rtc_caller c, void **program, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes);
int rtc_destroy(struct rtc_caller c, void **program);
int rtc_compile(struct rtc_caller c, void *program, int noptions, const char *const *options);
int rtc_ask(struct rtc_caller c, enum rtc_function f, void *program, void *a, void *b); /* from RTC_ASKED on */

/* inputs.c: any function of an interface whose programs are given inputs one by one. */
int rtc_call_inputs(struct rtc_caller c, enum rtc_function f, void *const a[RTC_ARGUMENTS]);
