/*
 * entries.h: how the two libraries of the C front end find each other. libkernstash.so.1 is C
 * (front/): what programs are linked with. It opens libkernstash-go.so.1, which is beside it and
 * is of the same release, when something is asked for the first time.
 */
#ifndef KS_ENTRIES_H
#define KS_ENTRIES_H

#include <stdint.h>

#include "internal.h"

/* What Go is asked to do. Each takes a pointer to a structure of internal.h. */
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
	ks_blob *(*blob_use)(ks_blob *b);
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
};

/* The number of what is in this file, internal.h and kernstash_front.h: TestPrivateInterface says
 * when it has to be another one. */
enum { ks_private = 5 };

/* The one function that the front looks up in libkernstash-go.so.1. It keeps front, which lives as
 * long as the process, and fills in go. False, with nothing done: the libraries are not of
 * one release. */
typedef bool ks_go_start_fn(int private, const struct ks_front *front, struct ks_go *go);
ks_go_start_fn ks_go_start;

#endif
