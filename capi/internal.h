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
	kernstash_artifact artifact;
} ks_blob;

enum { ks_detail_size = 512 };

/* ---- Tickets: get or build --------------------------------------------- */

enum { ks_act_none = 0, ks_act_done = 1, ks_act_build = 2, ks_act_failed = 3, ks_act_alone = 4 };

/* One get-or-build. Go posts an action; the thread waits for it in C, builds if it
 * is told to, says how it ended, and waits again. */
typedef struct ks_ticket {
	_Atomic uint32_t action;
	uintptr_t go;  /* what Go knows of it; 0: nothing */
	/* Written before the action is posted: */
	ks_blob *blob; /* done: a use of it */
	int status;    /* failed */
	int code;      /* failed: the build's */
	char *log;     /* failed: malloc's, or NULL */
	char detail[ks_detail_size];
	uint32_t origin; /* done */
} ks_ticket;

/* ---- What handles point to --------------------------------------------- */

/* Each counts its users and holds a use of the one above it. */
struct kernstash_cache {
	_Atomic long uses;
	uintptr_t go;
};

struct kernstash_device {
	_Atomic long uses;
	kernstash_cache *cache;
	uintptr_t go; /* lives as long as the cache's */
	char directory[33];
};

/* Bytes that grow: a sequence of items, each a kind, its length in 8 bytes, and its bytes, so that no
 * two sequences look alike. */
typedef struct ks_buffer {
	char *data; /* malloc's */
	size_t size, room;
} ks_buffer;

/* The parts of a key, in the order in which Go puts them together. */
enum { ks_program, ks_context, ks_material /* sources and libraries */, ks_variants, ks_parts };

/* A lookup, which one thread uses at a time. */
struct kernstash_lookup {
	kernstash_device *device;
	ks_buffer parts[ks_parts];
	bool fixed;      /* the key */
	bool incomplete; /* a part of the key was refused */
	uintptr_t key;   /* what Go made of all that; 0: nothing yet */

	ks_blob **blobs; /* all that it ever had: pointers to them went out */
	size_t blob_count, blob_room;
	ks_blob *blob; /* the one of now, or NULL */
	uint32_t origin;
	int64_t missed_at; /* nanoseconds of the clock; 0: it was not */

	ks_ticket ticket;
	bool building;  /* in the callback */
	bool failed;    /* the last get_or_build */
	bool fail_said; /* by the callback */
	int fail_code;
	char *fail_log; /* malloc's */
};

/* ---- Calls into Go ----------------------------------------------------- */

/* What every call begins with. Go writes both; detail is a C string. */
typedef struct ks_call {
	int status;
	char detail[ks_detail_size];
} ks_call;

typedef struct ks_cache_call { /* open, close, release, flush, statistics, counter */
	ks_call call;
	kernstash_cache *cache;           /* open: Go writes what it knows of it */
	const kernstash_options *options; /* open; all of it */
	uint32_t milliseconds;            /* flush */
	const char *name;                 /* counter */
	int64_t value;                    /* counter: out */
	kernstash_statistics *statistics; /* out; all of it */
	ks_ticket *ticket; /* close, flush: done is posted when the rest is there */
} ks_cache_call;

typedef struct ks_device_call {
	ks_call call;
	kernstash_device *device; /* Go writes what it knows of it, and its directory */
	const kernstash_identity *identity; /* or */
	void *platform, *id, *get_platform_info, *get_device_info;
} ks_device_call;

enum { ks_built = 1, ks_refused = 2, ks_broken = 3 };

typedef struct ks_lookup_call { /* find, populate, refuse, forget, begin, finish */
	ks_call call;
	kernstash_lookup *lookup;
	ks_blob *blob;    /* find: out, a use of it */
	uint32_t origin;  /* find: out */
	uintptr_t parent; /* begin: ticket of the build that this one is in; or 0 */
	int result;       /* finish: ks_built, ... */
} ks_lookup_call;

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

/* ---- The two libraries ------------------------------------------------- */

/* libkernstash.so.1 is C (front/): what programs are linked with. It opens libkernstash-go.so.1,
 * which is beside it and is of the same release, when something is asked for the first time. */

/* What Go is asked to do. Each takes a pointer to one of the structures above. */
enum ks_entry {
	ks_go_open, ks_go_close, ks_go_release, ks_go_flush, ks_go_stats, ks_go_counter,
	ks_go_device,
	ks_go_find, ks_go_populate, ks_go_refuse, ks_go_forget,
	ks_go_begin, ks_go_finish,
	ksf_go_open, ksf_go_begin, ksf_go_next, ksf_go_wait, ksf_go_end, ksf_go_tell,
	ks_entries,
};

/* What Go calls of the front's. */
struct ks_front {
	const char *path; /* of libkernstash.so.1; lives as long as the process */
	void (*post)(ks_ticket *t, uint32_t action);
	void (*wake)(uint32_t event);
	ks_blob *(*blob_new)(const kernstash_artifact *a);
	void (*blob_unuse)(ks_blob *b);
};

/* What the front calls of Go's. */
struct ks_go {
	/* Does an entry. It waits for Go's runtime to be there. True: a write of the library's has failed,
	 * at some time, and may have sent a signal to the thread that wrote. */
	bool (*call)(int entry, void *argument);
	/* How many of the process's threads are the runtime's. Each counts itself while it is there, so
	 * there are never fewer. */
	int (*threads)(void);
	/* How much of what was built and counted is not written yet. */
	const _Atomic int32_t *unwritten;
};

/* The number of what is in this file and kernstash_front.h: TestPrivateInterface says when it has to
 * be another one. */
enum { ks_private = 10 };

/* The one function that the front looks up in libkernstash-go.so.1. It keeps front, which lives as
 * long as the process, and fills in go. False, with nothing done: the libraries are not of
 * one release. */
typedef bool ks_go_start_fn(int private, const struct ks_front *front, struct ks_go *go);
ks_go_start_fn ks_go_start;

#endif
