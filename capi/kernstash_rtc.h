/*
 * kernstash_rtc.h: what shim/nvrtc and shim/hiprtc ask of libkernstash.so.
 *
 * Private: a shim and the library that it opens are of one release. A shim that finds
 * another KSR_ABI passes everything through. Applications use kernstash.h.
 *
 * The library never calls a compiler. The course of one compile:
 *
 *     begin ──► PASS                          the compiler compiles; all is said
 *           ├─► SERVE, output ──► end         this is what would come of it
 *           └─► BUILD ──► the compiler compiles ──► done
 *
 * A ticket is given up exactly once, by done or by end; end without done says that
 * nothing is known of the compile, and others who wait for it go on.
 *
 * begin waits while another thread has a ticket for the same program, or another process
 * compiles it. After some two minutes it gives up, with PASS.
 *
 * All functions may be called from all threads. None throws, none calls back, none raises
 * a signal; in a child that was forked after the library was opened each answers PASS at
 * once. What a request or an outcome points to is read during the call only; what a reply
 * points to lives until the ticket is given up.
 */
#ifndef KERNSTASH_RTC_H
#define KERNSTASH_RTC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KSR_ABI 1u

typedef struct ksr_bytes { /* not terminated; data == NULL: none */
	const void *data;
	size_t size;
} ksr_bytes;

enum { KSR_NVRTC = 1, KSR_HIPRTC = 2 }; /* interfaces */

/* Forms of code. */
enum {
	KSR_PTX, KSR_CUBIN, KSR_LTOIR, KSR_OPTIXIR, KSR_NVVM, /* NVRTC's */
	KSR_CODE, KSR_BITCODE,                                /* HIPRTC's */
	KSR_FORMS
};

typedef struct ksr_request {
	uint32_t size; /* of this structure */
	uint32_t api;
	void *compile; /* the compiler library's own CompileProgram */
	int32_t major, minor; /* of its version */
	const char *source, *name; /* name may be NULL */
	const char *const *headers, *const *includes; /* contents, and names */
	const char *const *options, *const *expressions;
	uint32_t nheaders, noptions, nexpressions;
} ksr_request;

typedef struct ksr_answer { /* of the library, to a question for a size and for what is of it */
	uint32_t asked; /* 0: the library has no such function */
	int32_t code;   /* 0: success */
	ksr_bytes data; /* as many bytes as it said */
} ksr_answer;

typedef struct ksr_lowered {
	const char *expression, *name; /* name NULL: none */
	int32_t code;
} ksr_lowered;

typedef struct ksr_output { /* everything that is to be answered after a compile */
	ksr_answer log, forms[KSR_FORMS];
	const ksr_lowered *lowered; /* in the order of the request's expressions */
	uint32_t nlowered;
} ksr_output;

enum { KSR_PASS = 0, KSR_SERVE = 1, KSR_BUILD = 2 }; /* actions */

typedef struct ksr_reply {
	uint32_t action;
	uint64_t ticket;     /* SERVE: for end; BUILD: for done or end */
	ksr_output output;   /* SERVE */
	const char *reason;  /* PASS: why, for traces; else NULL */
} ksr_reply;

/* How it ended. */
enum {
	KSR_BUILT = 1,
	KSR_FAILED = 2,   /* the compiler refused the program, or its options */
	KSR_ABANDONED = 3 /* any other failure, which says nothing of the program */
};

typedef struct ksr_outcome {
	uint32_t result;
	int32_t code;         /* the compiler's, of KSR_FAILED and KSR_ABANDONED */
	uint64_t nanoseconds; /* that the compiler took for it */
	ksr_output output;    /* KSR_BUILT: all; KSR_FAILED: the log */
} ksr_outcome;

typedef struct ksr_api {
	uint32_t size; /* of this structure */
	uint32_t abi;

	/* Reply is filled in always; the return value is its action. */
	uint32_t (*begin)(const ksr_request *request, ksr_reply *reply);
	/* Takes a moment where something was built: until it is stored, if that is not long. */
	void (*done)(uint64_t ticket, const ksr_outcome *outcome);
	void (*end)(uint64_t ticket);

	/* Counts a program of an interface that the shim passed through by itself, for a
	 * reason: "flow callback", ... */
	void (*passed)(uint32_t api, const char *reason);
} ksr_api;

/* The only symbol that a shim looks up. NULL: another ABI, or the library stays out of
 * this process (address-space limit, set-uid, KERNSTASH_DISABLE=1). */
const ksr_api *kernstash_rtc_api(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
