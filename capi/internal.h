/*
 * internal.h: what the C and the Go of this library say to each other. Handles of
 * Go's objects are numbers; binaries are C's, since pointers to them go out.
 */
#ifndef KS_INTERNAL_H
#define KS_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernstash.h"
#include "kernstash_front.h"

/* ---- Binaries ---------------------------------------------------------- */

/* A binary with all that belongs to it, in one piece of memory; counted. Nothing
 * in it changes once it is made. */
typedef struct ks_blob {
	_Atomic long uses;
	size_t size; /* of all of it */
	kernstash_artifact artifact;
} ks_blob;

enum { ks_detail_size = 512 };

/* ---- Calls into Go ----------------------------------------------------- */

/* What every call begins with. Go writes both; detail is a C string. */
typedef struct ks_call {
	int status;
	char detail[ks_detail_size];
} ks_call;

typedef struct ks_open_call {
	ks_call call;
	const char *directory;
	int64_t max_size, memory;
	uint32_t flags;
	uintptr_t cache; /* out */
} ks_open_call;

typedef struct ks_ticket ks_ticket;

typedef struct ks_cache_call { /* close, flush, statistics, counter */
	ks_call call;
	uintptr_t cache;
	uint32_t milliseconds;
	const char *name;
	int64_t value;                    /* out */
	kernstash_statistics *statistics; /* out; all of it */
	ks_ticket *ticket; /* close, flush: done is posted when the rest is there */
} ks_cache_call;

typedef struct ks_device_call {
	ks_call call;
	uintptr_t cache;
	const kernstash_identity *identity; /* or */
	void *platform, *id, *get_platform_info, *get_device_info;
	uintptr_t device;   /* out */
	char directory[33]; /* out */
} ks_device_call;

/* What a lookup is for, in pieces that Go puts together. */
typedef struct ks_bytes {
	const void *data;
	size_t size;
} ks_bytes;

typedef struct ks_request {
	uintptr_t device;
	ks_bytes program, context; /* an item; an item, or nothing */
	ks_bytes material; /* sources and libraries */
	ks_bytes variants;
	ks_bytes options; /* of the compiler, once more, as one string, for people */
	bool sourced, versioned; /* sources, library versions are in the material */
} ks_request;

typedef struct ks_lookup_call { /* find, populate, refuse, forget */
	ks_call call;
	const ks_request *request;
	uintptr_t key; /* what Go made of the request; in and out, 0: nothing yet */
	ks_blob *blob; /* find: out, a use of it; populate: in */
	bool memory;   /* find: out, it was there */
} ks_lookup_call;

/* ---- Tickets: get or build --------------------------------------------- */

enum { ks_act_none = 0, ks_act_done = 1, ks_act_build = 2, ks_act_failed = 3, ks_act_alone = 4 };

/* One get-or-build. Go posts an action; the thread waits for it in C, builds if it
 * is told to, says how it ended, and waits again. */
struct ks_ticket {
	_Atomic uint32_t action;
	uintptr_t go;  /* what Go knows of it; 0: nothing */
	/* Written before the action is posted: */
	ks_blob *blob; /* done: a use of it */
	int status;    /* failed */
	int code;      /* failed: the build's */
	char *log;     /* failed: malloc's, or NULL */
	char detail[ks_detail_size];
	int origin;    /* done */
};

typedef struct ks_begin_call {
	ks_call call;
	const ks_request *request;
	uintptr_t key;     /* as in ks_lookup_call */
	uintptr_t parent;  /* ticket of the build that this one is in; or 0 */
	ks_ticket *ticket; /* action is set at once where nothing is to be waited for */
} ks_begin_call;

enum { ks_built = 1, ks_refused = 2, ks_broken = 3 };

typedef struct ks_finish_call {
	ks_call call;
	uintptr_t ticket;
	int result;      /* ks_built, ... */
	ks_blob *blob;   /* built */
	int code;        /* else */
	const char *log; /* refused */
} ks_finish_call;

/* ---- Front ends -------------------------------------------------------- */

/* What a function of kernstash_front.h hands to Go, and takes from it. It lives on the caller's stack. */
typedef struct ksf_call {
	const char *runtime; /* open */
	uint32_t front;      /* open: out; 0: the library stays out */
	uint32_t what;
	const ksf_message *message;
	ksf_step *step;
	uint64_t ticket;
	int64_t thread; /* the host's, whichever one calls Go */
	uint32_t event; /* woken where there is a step for a call that was pending */
	bool pending;   /* there is no step yet: ksf_go_wait, with the ticket, asks for it */
} ksf_call;

#endif
