/*
 * kernstash_levelzero.h: what shim/levelzero asks of libkernstash.so.
 *
 * Private: a shim and the library that it opens are of one release. A shim that finds
 * another KSZ_ABI passes everything through. Applications use kernstash.h.
 *
 * The library never calls a driver but to ask what a device is. Modules are made by the
 * shim, in frames of C, so that a driver that crashes crashes as it does without us.
 *
 * The course of one zeModuleCreate of SPIR-V:
 *
 *     begin ──► PASS                      the driver builds; all is said
 *           ├─► SERVE, native code ──► the shim makes the module of that,
 *           └─► BUILD ───────────────► or has the driver build it,
 *                 ▲                    and says how it ended
 *                 └───────── next ◄──────────┘
 *           next ──► DONE
 *     end
 *
 * next answers BUILD where the driver refused the native code: the entry is gone by then.
 * PASS from next: the driver builds what is not made yet, and nothing more is to be said.
 * A ticket is ended exactly once, whatever came before; end without the last next says
 * that nothing is known of the build, and others who wait for it go on.
 *
 * begin waits while another thread has a ticket for the same module, or another process
 * builds it. After some two minutes it gives up, with PASS.
 *
 * All functions may be called from all threads. One ticket is used by one thread at a
 * time. None throws, none calls back but what a request's queries ask the driver, none
 * raises a signal; in a child that was forked after the library was opened each answers
 * PASS at once. What a request points to is read during the call only; what a reply
 * points to lives until the ticket's next call of next or end.
 */
#ifndef KERNSTASH_LEVELZERO_H
#define KERNSTASH_LEVELZERO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KSZ_ABI 3u

typedef struct ksz_bytes { /* not terminated; data == NULL: none */
	const void *data;
	size_t size;
} ksz_bytes;

/* The functions that ask what drivers and devices are, beneath the shim. One that the
 * loader lacks is NULL. */
typedef struct ksz_queries {
	void *driver_get, *device_get, *device_get_sub_devices;
	void *driver_get_properties, *driver_get_api_version, *driver_get_extension_properties;
	void *device_get_properties, *device_get_module_properties, *device_get_compute_properties;
	void *device_pci_get_properties;
} ksz_queries;

typedef struct ksz_request {
	uint32_t size; /* of this structure */
	uint32_t nmodules;
	const ksz_queries *queries;
	void *device;             /* ze_device_handle_t */
	const ksz_bytes *modules; /* SPIR-V; several are linked into one, in this order */
	const char *flags;        /* of each of them; or NULL */

	/* Specialization constants, of one module alone; how large the values are the
	 * module says. */
	const uint32_t *ids;
	const void *const *values;

	/* The environment, NAME=value each and NULL at the end, as it was when the drivers
	 * were loaded; a copy of the shim's. With another one at the time of a build nobody
	 * knows which values hold in the driver, and nothing is cached. NULL: not known;
	 * then it is compared with that of the process's start. */
	const char *const *environment;
	uint32_t nconstants;

	/* What the shim saw of the directories that the process worked in, of which
	 * drivers read files when they are loaded: KSZ_SETTINGS, KSZ_MOVED. */
	uint32_t directories;
} ksz_request;

/* One of the files of settings of Intel's driver was in one of them; they were not all the
 * same. */
enum { KSZ_SETTINGS = 1, KSZ_MOVED = 2 };

enum { KSZ_PASS = 0, KSZ_SERVE = 1, KSZ_BUILD = 2, KSZ_DONE = 3 }; /* actions */

typedef struct ksz_reply {
	uint32_t action;
	uint32_t nkernels;    /* SERVE */
	uint64_t ticket;      /* SERVE, BUILD: for next and end; else 0 */
	ksz_bytes native;     /* SERVE */
	ksz_bytes log;        /* SERVE: the driver's when it was built */
	const ksz_bytes *kernels; /* SERVE: their names, in the driver's order */
	const char *reason;   /* PASS: why, for traces; else NULL */
	uint32_t unknown_global, unknown_function; /* SERVE: see ksz_outcome; 0: not known */
} ksz_reply;

/* How it ended. */
enum {
	KSZ_RESTORED = 1, /* the module is made of the native code */
	KSZ_REFUSED = 2,  /* the driver did not take it, or made another module of it: the
	                   * entry goes. Out of memory says nothing of it, and is KSZ_ABANDONED. */
	KSZ_BUILT = 3,
	KSZ_FAILED = 4,   /* the compiler refused the module */
	KSZ_ABANDONED = 5 /* any other failure, which says nothing of the module */
};

typedef struct ksz_outcome {
	uint32_t result;
	int32_t code;         /* the driver's, of KSZ_FAILED and KSZ_ABANDONED */
	uint64_t nanoseconds; /* that the driver took for it */
	ksz_bytes native;     /* KSZ_BUILT */
	ksz_bytes log;        /* KSZ_BUILT, KSZ_FAILED */
	const char *const *kernels; /* KSZ_BUILT: their names, in the driver's order */
	uint32_t nkernels;

	/* KSZ_BUILT: with what the module refuses the name of a variable, and of a function,
	 * that it has not. Native code of the same may answer otherwise. */
	uint32_t unknown_global, unknown_function;
} ksz_outcome;

typedef struct ksz_api {
	uint32_t size; /* of this structure */
	uint32_t abi;

	/* Reply is filled in always; the return value is its action. */
	uint32_t (*begin)(const ksz_request *request, ksz_reply *reply);
	uint32_t (*next)(uint64_t ticket, const ksz_outcome *outcome, ksz_reply *reply);
	void (*end)(uint64_t ticket);

	/* Counts a module that the shim passed through by itself, by the name of the
	 * reason: "binary", "extension", ... */
	void (*passed)(const char *reason);
} ksz_api;

/* The only symbol that a shim looks up. NULL: another ABI, or the library stays out of
 * this process (address-space limit, set-uid, KERNSTASH_DISABLE=1). */
const ksz_api *kernstash_levelzero_api(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
