/*
 * kernstash.h: build GPU programs once; every later thread, process and restart
 * starts warm.
 *
 *     kernstash_cache *cache;
 *     kernstash_device *device;
 *     kernstash_lookup *lookup;
 *
 *     kernstash_open(NULL, &cache);                          // once a process
 *     kernstash_device_opencl(cache, platform, id, &device); // once a device
 *
 *     kernstash_lookup_open(device, "gemm", &lookup);        // once a program
 *     kernstash_lookup_library(lookup, "myblas", "2.14.0");  // or ..._source
 *     kernstash_lookup_int(lookup, vector_width);
 *     kernstash_lookup_options(lookup, "-cl-mad-enable");
 *     if (kernstash_lookup_get_or_build(lookup, build, &args) == KERNSTASH_OK)
 *             kernstash_lookup_binary(lookup, &data, &size);
 *     ...
 *     kernstash_lookup_close(lookup);
 *
 * where build compiles and says kernstash_lookup_set(lookup, data, size). Without
 * a callback: kernstash_lookup_found, else build, kernstash_lookup_set,
 * kernstash_lookup_populate. docs/C.md takes a program through it.
 *
 * PROMISES. Whatever is wrong with the cache (no directory, a full disk, a damaged
 * entry, a forked child) is a miss, and the program builds as it would have. A
 * binary is given out only if everything it was made from is equal: device,
 * driver, compiler, program, sources or library version, variants; and only if its
 * bytes have the digest that they were stored with.
 *
 * ERRORS. Functions return KERNSTASH_OK (0) or a negative status; see
 * kernstash_strerror, and kernstash_detail for what happened in particular. NULL
 * where a pointer is asked for is KERNSTASH_INVALID. An output is written on
 * KERNSTASH_OK; handles are NULL otherwise. No failure outlives its call.
 *
 * OWNERSHIP. What ..._open and ..._device_... give is closed once, in any order: a
 * device keeps its cache alive, a lookup its device. Closing NULL does nothing.
 * What is passed in is copied. What is passed out says how long it lives.
 *
 * THREADS. Caches and devices may be used by all threads at once, a lookup by one
 * at a time. Strings are UTF-8 or any other bytes, and end with NUL; sizes are
 * bytes, times nanoseconds unless they say otherwise.
 *
 * SIGNALS. The library holds a Go runtime, which installs handlers for SIGSEGV,
 * SIGBUS, SIGFPE and SIGPIPE when the library is loaded, and hands on what is not
 * its own to those that were there: a crash of the application, or of a
 * driver in a build callback, ends it as it would have. To handlers that lack it
 * SA_ONSTACK is added: to all when the library is loaded, to those of SIGPROF and
 * SIGCHLD later too. The library's threads take no other signals of the
 * application; on the application's threads signals wait while a call is inside,
 * which is microseconds: what waits long waits outside.
 *
 * FORK, EXIT. In a child that was forked after the library was first called everything is a
 * miss, at once. Nothing of the library runs at exit: close the cache (or
 * kernstash_flush) before, else the last builds may not be stored. dlclose does not
 * unload it. Where limits of the process leave too little for the Go runtime at
 * the first call (RLIMIT_AS less than KERNSTASH_ADDRESS_SPACE, RLIMIT_DATA less
 * than 512 MiB, RLIMIT_NPROC less than a dozen threads), it is not started, and
 * everything is KERNSTASH_UNAVAILABLE.
 *
 * ABI. Every symbol has the version KERNSTASH_1. What is there stays as it is for
 * as long as the library is called libkernstash.so.1; structures grow at their
 * ends, and their first field says what the caller knows of them.
 */
#ifndef KERNSTASH_H
#define KERNSTASH_H

#include <stddef.h>
#include <stdint.h>

#define KERNSTASH_VERSION_TEXT "0.1.0"

/* Bytes of address space that loading the library takes, generously. */
#define KERNSTASH_ADDRESS_SPACE ((uint64_t)4 << 30)

#if defined(KERNSTASH_API)
/* kernstash_stub.h says how. */
#elif defined(__GNUC__)
#define KERNSTASH_API __attribute__((visibility("default")))
#else
#define KERNSTASH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses ---------------------------------------------------------- */

enum {
	KERNSTASH_OK = 0,
	KERNSTASH_INVALID = -1,      /* an argument makes no sense: NULL, a size, an order of calls */
	KERNSTASH_NO_KEY = -2,       /* a lookup without source or library version */
	KERNSTASH_NOT_FOUND = -3,    /* there is no binary */
	KERNSTASH_NOT_STORED = -4,   /* the binary could not be stored, or may not be */
	KERNSTASH_BUILD_FAILED = -5, /* the callback made no binary */
	KERNSTASH_CYCLE = -6,        /* a build asked for what waits for that build */
	KERNSTASH_SETTING = -7,      /* a setting that makes no sense */
	KERNSTASH_DEVICE = -8,       /* a device that cannot be identified */
	KERNSTASH_TIMEOUT = -9,      /* not done in time */
	KERNSTASH_NO_MEMORY = -10,
	KERNSTASH_UNAVAILABLE = -11, /* not installed, a forked child, rights beyond the user's: build without */
	KERNSTASH_CLOSED = -12,      /* the cache was closed */
	KERNSTASH_INTERNAL = -13     /* a defect of ours */
};

/* What a status means: a text that lives for ever, for any number. */
KERNSTASH_API const char *kernstash_strerror(int status);

/* What went wrong in this thread's last call that failed, or why the last
 * kernstash_lookup_found found nothing; "" if there is nothing to say. It lives
 * until the thread's next call that fails. */
KERNSTASH_API const char *kernstash_detail(void);

/* The version of the library that is loaded, "0.1.0". It lives for ever. */
KERNSTASH_API const char *kernstash_version(void);

/* ---- Cache ------------------------------------------------------------- */

typedef struct kernstash_cache kernstash_cache;

enum {
	KERNSTASH_NO_DISK = 1,  /* nothing is read from disk or written to it */
	KERNSTASH_NO_MEMORY_TIER = 2 /* kernstash_lookup_get_or_build keeps no binary in memory */
};

/* Zero is right for every field but size. The environment (KERNSTASH_MAX_SIZE,
 * KERNSTASH_MODE, ...) has the last word, as it is the operator's, and
 * KERNSTASH_DISABLE=1 makes everything a miss. KERNSTASH_DIR alone says where the
 * cache is that all share, and leaves a private directory where it is. */
typedef struct kernstash_options {
	size_t size;           /* sizeof(kernstash_options) */
	const char *directory; /* a private one; NULL: the user's, which all programs share */
	int64_t max_size;      /* bytes on disk; 0: 5 GiB; negative: no limit */
	int64_t memory;        /* bytes of binaries kept in memory; 0: 512 KiB; negative: no limit */
	uint32_t flags;        /* KERNSTASH_NO_... */
	uint32_t reserved;     /* 0 */
} kernstash_options;

/* Opens a cache; options may be NULL. It touches no disk: a directory that cannot
 * be made or trusted is found out by the first lookup, and disables this cache's
 * disk tier only. KERNSTASH_SETTING names the setting and its value. */
KERNSTASH_API int kernstash_open(const kernstash_options *options, kernstash_cache **cache);

/* Waits until what was built is stored, at most so many milliseconds. */
KERNSTASH_API int kernstash_flush(kernstash_cache *cache, uint32_t milliseconds);

/* Closes a cache: waits for builds that are under way, and for at most 5 s until
 * what was built is stored. Binaries that lookups hold stay; their other calls
 * answer KERNSTASH_CLOSED, and kernstash_lookup_get_or_build builds. */
KERNSTASH_API int kernstash_close(kernstash_cache *cache);

/* What a cache counted since it was opened. */
typedef struct kernstash_statistics {
	size_t size;           /* in: sizeof(kernstash_statistics) */
	int64_t memory_hits;   /* get-or-build found a binary in memory, */
	int64_t memory_waits;  /* or waited for another thread's build */
	int64_t disk_hits;     /* entries found, checked and loaded */
	int64_t disk_misses;
	int64_t disk_waits;    /* builds that waited for another process */
	int64_t stored;        /* entries written, */
	int64_t bettered;      /* replaced by a better form, */
	int64_t existing;      /* as good a one was there, */
	int64_t not_stored;    /* dropped, or failed */
	int64_t corrupt;       /* entries found damaged, or refused by the driver */
	int64_t builds;        /* callbacks called, */
	int64_t build_failures;
	int64_t build_time;    /* nanoseconds in callbacks */
	int64_t saved_time;    /* nanoseconds that hits made unnecessary */
} kernstash_statistics;

KERNSTASH_API int kernstash_stats(kernstash_cache *cache, kernstash_statistics *statistics);

/* One total by the name that `kernstash stat --json` shows: "miss.absent", ...
 * Another name is KERNSTASH_NOT_FOUND. */
KERNSTASH_API int kernstash_counter(kernstash_cache *cache, const char *name, int64_t *value);

/* ---- Device ------------------------------------------------------------ */

typedef struct kernstash_device kernstash_device;

typedef struct kernstash_pair {
	const char *name, *value;
} kernstash_pair;

/* What decides how a device compiles. Whatever differs here is another device
 * with entries of its own; devices whose identities are equal share them, on this
 * machine or another. Leave out what changes nothing: ordinals, bus addresses. */
typedef struct kernstash_identity {
	size_t size;          /* sizeof(kernstash_identity) */
	const char *api;      /* "cuda", "vulkan", ..., or your own; required */
	const char *platform; /* platform or vendor; NULL: none */
	const char *name;     /* of the device; required */
	const char *version;  /* of the device; NULL: none */
	const char *driver;   /* version of the driver; required */
	const kernstash_pair *traits; /* what devices of one name differ in: ("compute capability", "9.0") */
	size_t trait_count;
	const kernstash_pair *compiler; /* what compiles, where the driver's version leaves it open */
	size_t compiler_count;
} kernstash_identity;

/* A device of any runtime, by its identity. */
KERNSTASH_API int kernstash_device_open(kernstash_cache *cache, const kernstash_identity *identity,
	kernstash_device **device);

/* A device of OpenCL: asks the cl_device_id what it is, the process's memory which
 * libraries compile for it, and the environment for the variables that its
 * compiler obeys. The identity is that of kernstash's other front ends. It calls
 * clGetDeviceInfo and clGetPlatformInfo of the process's libOpenCL.so.1. Keep the
 * device rather than ask again: it takes about a millisecond the first time. A
 * device that cannot be identified is KERNSTASH_DEVICE: its programs cannot be
 * cached safely. */
KERNSTASH_API int kernstash_device_opencl(kernstash_cache *cache, void *cl_platform_id, void *cl_device_id,
	kernstash_device **device);

/* The name of the device's directory below the cache's: 32 hexadecimal digits that
 * differ if anything in the identity does. It lives as long as the device. */
KERNSTASH_API const char *kernstash_device_directory(const kernstash_device *device);

KERNSTASH_API void kernstash_device_close(kernstash_device *device);

/* ---- Lookup: what the program is --------------------------------------- */

typedef struct kernstash_lookup kernstash_lookup;

/* Opens a lookup for a program of a name, which is part of its key. It then takes
 * its key: at least one source or library version, and variants, whose values,
 * kinds and ORDER count. The first of found, get_or_build and populate fixes it.
 * Where a part of the key is refused the lookup finds and stores nothing any more
 * (KERNSTASH_INVALID): statuses of these calls need no looking at. */
KERNSTASH_API int kernstash_lookup_open(kernstash_device *device, const char *program, kernstash_lookup **lookup);

/* What else binaries of this context depend on, if they do: a string or any bytes
 * of yours that mean the same in another process (no handle, no address). Given
 * again, it replaces what was given. */
KERNSTASH_API int kernstash_lookup_context(kernstash_lookup *lookup, const void *data, size_t size);

/* A text that the program is made from; several in their order. Hashing takes
 * about a microsecond a kilobyte. A source that includes files (#include) is not
 * enough of a key: what it includes may change. Such a lookup needs a library
 * version, else nothing is stored. So does one whose source holds __DATE__,
 * __TIME__ or .incbin, whatever else it has. */
KERNSTASH_API int kernstash_lookup_source(kernstash_lookup *lookup, const char *text, size_t size);

/* A library that makes the source, or holds it, and its version, which must change
 * whenever what is built does: put the build id in, not only the release. */
KERNSTASH_API int kernstash_lookup_library(kernstash_lookup *lookup, const char *name, const char *version);

/* Variants. A double is compared by its bits: 0.0 and -0.0 are two. */
KERNSTASH_API int kernstash_lookup_int(kernstash_lookup *lookup, int64_t value);
KERNSTASH_API int kernstash_lookup_double(kernstash_lookup *lookup, double value);
KERNSTASH_API int kernstash_lookup_string(kernstash_lookup *lookup, const char *value);
KERNSTASH_API int kernstash_lookup_bytes(kernstash_lookup *lookup, const void *data, size_t size);
KERNSTASH_API int kernstash_lookup_options(kernstash_lookup *lookup, const char *options); /* of the compiler */

/* ---- Lookup: its binary ------------------------------------------------ */

/* Forms of a binary, a better one for the next start having the larger number. */
enum {
	KERNSTASH_INTERMEDIATE = 1, /* the driver finishes it when it is loaded (PTX) */
	KERNSTASH_DEFERRED = 2,     /* the driver adds code at launches: launches says for which it has some */
	KERNSTASH_FINAL = 3         /* machine code, complete */
};

/* Where a binary came from. */
enum {
	KERNSTASH_FROM_CALLER = 1, /* set */
	KERNSTASH_FROM_MEMORY = 2, /* another lookup of this process built or loaded it */
	KERNSTASH_FROM_DISK = 3
};

typedef struct kernstash_artifact {
	size_t size;       /* sizeof(kernstash_artifact) */
	const void *data;  /* the binary */
	size_t data_size;  /* not 0 */
	const char *log;   /* of the build, with its warnings; NULL: none */
	const char *const *launches; /* names of launches that the code is ready for: local sizes, "64-1-1" */
	size_t launch_count;
	int64_t cost;      /* nanoseconds that building took; 0: from the miss to set */
	uint32_t form;     /* KERNSTASH_FINAL, ...; 0: KERNSTASH_FINAL */
	uint32_t origin;   /* out: KERNSTASH_FROM_...; in: 0 */
} kernstash_artifact;

/* 1: there is a binary, in the lookup from now on. 0: there is none, or anything is
 * wrong (kernstash_detail says what): build. It waits for nobody. */
KERNSTASH_API int kernstash_lookup_found(kernstash_lookup *lookup);

/* The lookup's binary: what was found or set last. It lives until the lookup is
 * closed, whatever is set after. KERNSTASH_NOT_FOUND: there is none. */
KERNSTASH_API int kernstash_lookup_binary(const kernstash_lookup *lookup, const void **data, size_t *size);

/* All of it. artifact->size says how much of the structure the caller knows. */
KERNSTASH_API int kernstash_lookup_artifact(const kernstash_lookup *lookup, kernstash_artifact *artifact);

/* Makes a binary the lookup's: machine code, or as the artifact says. */
KERNSTASH_API int kernstash_lookup_set(kernstash_lookup *lookup, const void *data, size_t size);
KERNSTASH_API int kernstash_lookup_set_artifact(kernstash_lookup *lookup, const kernstash_artifact *artifact);

/* Stores what was set, and returns when other processes find it. An entry that is
 * there already stays, and that is KERNSTASH_OK, unless what was set is better: of a
 * better form, or ready for all the launches that it is ready for and more. So a
 * binary may be set and populated again when more is known. */
KERNSTASH_API int kernstash_lookup_populate(kernstash_lookup *lookup);

/* Says that the driver did not take the binary that was found: its entry goes, so
 * that the next populate or build replaces it. Then the lookup has no binary. */
KERNSTASH_API int kernstash_lookup_refused(kernstash_lookup *lookup);

/* ---- Get or build ------------------------------------------------------ */

/* Compiles what a lookup is for, sets it in the lookup, and returns 0; or returns
 * anything else. It is called on the thread of its caller, with no frame of Go
 * between them: a driver that crashes in it crashes as without us. It may use other
 * lookups, and of its own kernstash_lookup_set and ..._fail. */
typedef int (*kernstash_build_fn)(void *user, kernstash_lookup *lookup);

/* Gives the lookup its binary: from memory, else from disk, else from build. Of
 * threads and processes that ask for the same at once one builds, and the others
 * wait for it (for other processes a minute at most). What is built is stored in
 * the background. Where the cache is of no use it builds, always. An exception of
 * C++ passes through; longjmp out of build is not allowed. KERNSTASH_BUILD_FAILED:
 * see kernstash_lookup_failure. */
KERNSTASH_API int kernstash_lookup_get_or_build(kernstash_lookup *lookup, kernstash_build_fn build, void *user);

/* Said by build before it returns what is not 0: the compiler itself refuses the
 * program, and will again. Everybody in this process who asks for it gets this code
 * and log at once. A build that fails without this is tried again by who asks next. */
KERNSTASH_API int kernstash_lookup_fail(kernstash_lookup *lookup, int code, const char *log);

/* Of the last get_or_build that failed: the code of kernstash_lookup_fail, else what
 * build returned, and the log ("": none), which lives until the lookup's next call.
 * Both may be NULL. KERNSTASH_NOT_FOUND: none failed. */
KERNSTASH_API int kernstash_lookup_failure(const kernstash_lookup *lookup, int *code, const char **log);

KERNSTASH_API void kernstash_lookup_close(kernstash_lookup *lookup);

#ifdef __cplusplus
}
#endif
#endif
