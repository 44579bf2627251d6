/*
 * kernstash_front.h: what the front ends in C (shim/...) ask of libkernstash.so, whichever
 * runtime they serve.
 *
 * Private: a front end and the library that it opens are of one release. A front end that
 * finds another KSF_ABI passes everything through. Applications use kernstash.h.
 *
 * The library never calls a driver or a compiler but to ask what a device is. Programs are
 * made by the front end, in frames of C, so that a driver that crashes crashes as it does
 * without us. The course of one request:
 *
 *     begin ──► PASS                     the driver builds; all is said
 *           ├─► HIT, what is stored ──► the front end takes that,
 *           └─► BUILD ────────────────► or has the driver build,
 *                 ▲                     and says how it ended
 *                 └──────── next ◄────────────┘
 *           next ──► DONE
 *
 * HIT may have gaps, which the driver fills (KSF_PART without a binary). next answers HIT
 * or BUILD again where the driver refused what was stored: the entry is gone by then. With
 * PASS from next the driver builds what is not made yet. PASS and DONE end the ticket; end
 * does where the last step was HIT or BUILD and nothing more is to be said, and does nothing
 * where it has ended. Of a build that was given up so nothing is known, and others who
 * wait for it go on.
 *
 * begin and next wait while another thread has a ticket for the same program, or another
 * process builds it: in C, until the library wakes them. After some two minutes they
 * answer PASS.
 *
 * All functions may be called from all threads; one ticket is used by one thread at a
 * time. None throws, none calls back but what a request's functions ask the driver, none
 * raises a signal; in a child that was forked after the library was opened each answers
 * PASS at once. What a message to the library points to is read during the call only;
 * what a step points to lives until the ticket's next call.
 */
#ifndef KERNSTASH_FRONT_H
#define KERNSTASH_FRONT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KSF_ABI 1u

/* A field of a message: numbers, and a string or a piece of code, which is not terminated.
 * data == NULL: there is none, which is not the same as an empty one. */
typedef struct ksf_field {
	uint32_t tag; /* KSF_FUNCTION, ... */
	uint32_t detail;
	uint64_t number;
	const void *data;
	size_t size;
} ksf_field;

/* Fields in an order that means something: what belongs to one stands behind it. */
typedef struct ksf_message {
	const ksf_field *fields;
	size_t count;
} ksf_message;

/* Tags, with what detail (d), number (n) and data hold. Each front end has some of them. */
enum {
	/* of requests */
	KSF_FUNCTION = 1, /* d: which one, in the runtime's order; n: the address of a function beneath the front end */
	KSF_PLATFORM,     /* n: the platform's handle */
	KSF_DEVICE,       /* n: the device's handle, or, where that is asked for, its place in the request */
	KSF_VERSION,      /* d, n: major and minor, of the compiler library */
	KSF_ENVIRONMENT,  /* n: the address of the environment, NAME=value each and NULL at the end, as it was when the
	                   * drivers were loaded; none: not known, and that of the process's start is taken for it */
	KSF_DIRECTORIES,  /* n: KSF_SETTINGS, KSF_MOVED */
	KSF_UNIT,         /* d: KSF_OPENCL_C or KSF_SPIRV; n: what DONE called the unit when it was compiled, or 0. Of an input: d:
	                   * the library's number for its kind; n: 1: added in the second way that there is. Its name and code follow */
	KSF_CODE,         /* of the unit, module, input or header before it; pieces of a unit are one text */
	KSF_HEADER,       /* one that the application hands over in memory: its name */
	KSF_CONSTANT,     /* d: the id of a specialization constant; its value, or n: the value's address */
	KSF_NAME,         /* of the program, or of an input */
	KSF_OPTIONS,      /* all, or one of a list */
	KSF_EXPRESSION,   /* a name expression */
	KSF_AGE,          /* n: nanoseconds since the first input was added, whose files were looked at then */
	/* of steps and results */
	KSF_ENDED,   /* d: KSF_RESTORED, ...; n: nanoseconds that the driver took */
	KSF_STATUS,   /* d: the driver's code */
	KSF_PART,     /* what follows is of the next device; d: KSF_FINAL, ... */
	KSF_BINARY,   /* d: its form; n: the code with which it was refused instead */
	KSF_ANSWER,   /* what the application gets for it where that is another form; n: its size, where it is to be asked for */
	KSF_LOG,      /* n: as of KSF_BINARY */
	KSF_KERNEL,   /* its name */
	KSF_KERNEL_ATTRIBUTES,
	KSF_ARGUMENT, /* its name, none where the driver does not tell; d: address qualifier; n: type qualifiers */
	KSF_ARGUMENT_TYPE, /* its name; d: access qualifier */
	KSF_LOWERED,  /* the lowered name of the request's next expression; n: the code with which it was refused instead */
	KSF_UNKNOWN,  /* d: 0 for variables, 1 for functions; n: with what a name is refused that the module has not */
	/* of events */
	KSF_PASSED,   /* why the front end passed something through by itself: "binary", ...; of a result, why what was built
	               * is not to be kept; with KSF_BUILD, nothing is kept of what is built */
	KSF_RELEASED, /* n: the program, or compiled unit, that the application has given up */
	KSF_LAUNCHED, /* a kernel's name; n: its program; its sizes follow, one KSF_SIZES for each dimension */
	KSF_SIZES,    /* three of size_t: offset, global, local; local is 0 where the driver chooses */
	KSF_COMPILES, /* the driver's compiler is about to be called: it may keep what it reads of the environment now */
	KSF_COMPILED_LATE, /* the driver compiled after all what had been found and skipped, in n nanoseconds */
	KSF_SAVED,    /* n: nanoseconds that had been counted as saved by that */
	KSF_TAGS
};

/* Directories that the process worked in, of which drivers read files when they are loaded:
 * one of the files of settings of Intel's driver was in one; they were not all the same. */
enum { KSF_SETTINGS = 1, KSF_MOVED = 2 };

enum { KSF_OPENCL_C = 1, KSF_SPIRV = 2 }; /* kinds of code */

/* When a driver's code is complete. KSF_DEFERRED: no binary is asked of it after a build, and
 * launches are told; also where nobody wants one. */
enum { KSF_FINAL = 0, KSF_INTERMEDIATE = 1, KSF_DEFERRED = 2 };

/* How it ended. */
enum {
	KSF_RESTORED = 1, /* from what was stored */
	KSF_REFUSED = 2,  /* the driver did not take that, or made another program of it: the entry goes.
	                   * Out of memory says nothing of it, and is KSF_ABANDONED. */
	KSF_BUILT = 3,
	KSF_FAILED = 4,   /* the compiler refused the program, or its options */
	KSF_ABANDONED = 5 /* any other failure, which says nothing of the program */
};

enum { KSF_PASS = 0, KSF_HIT = 1, KSF_BUILD = 2, KSF_DONE = 3 }; /* actions */

typedef struct ksf_step {
	uint32_t action;
	uint64_t ticket;     /* HIT, BUILD: for next and end; else 0 */
	ksf_message message; /* HIT, BUILD */
	uint64_t program;    /* DONE: what events and requests call the program from then on; 0: nobody wants to know */
	uint64_t saved;      /* DONE: for KSF_SAVED */
} ksf_step;

typedef struct ksf_api {
	uint32_t size; /* of this structure */
	uint32_t abi;

	/* front is what kernstash_front wrote; what is to happen has the numbers of the front
	 * end. The step is filled in always; the return value is its action. */
	uint32_t (*begin)(uint32_t front, uint32_t what, const ksf_message *request, ksf_step *step);
	/* Takes a moment where something was built: until it is stored, if that is not long. */
	uint32_t (*next)(uint32_t front, uint64_t ticket, const ksf_message *result, ksf_step *step);
	void (*end)(uint32_t front, uint64_t ticket);

	/* An event, of which nobody waits for anything. */
	void (*tell)(uint32_t front, uint32_t what, const ksf_message *event);
} ksf_api;

/* The only symbol that a front end looks up, with the name of its runtime. NULL: another
 * ABI, no such runtime, or the library stays out of this process (address-space limit,
 * set-uid, KERNSTASH_DISABLE=1). */
const ksf_api *kernstash_front(uint32_t abi, const char *runtime, uint32_t *front);

#ifdef __cplusplus
}
#endif
#endif
