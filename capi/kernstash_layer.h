/*
 * kernstash_layer.h: what the shims (shim/...) ask of libkernstash.so.
 *
 * Private: a shim and the library that it opens are of one release. A shim that
 * finds another KSL_ABI passes everything through. Applications use kernstash.h.
 *
 * The library never calls a driver but to ask what a device and its platform
 * are. Programs are built and restored by the shim, in frames of C, so that a
 * driver that crashes crashes as it does without us.
 *
 * The course of one build:
 *
 *     begin ──► PASS                            the driver builds; all is said
 *           └─► SERVE, binaries or holes ──► the shim restores what is there,
 *                 ▲                           builds what is not
 *                 └──────── next ◄──────────  and says how each ended
 *           next ──► DONE, and what the program is called from then on
 *     end
 *
 * next takes as many outcomes as the request has devices, in their order. It
 * answers SERVE again where the driver refused a binary: the entry is gone by
 * then, and the device is one to build for. A ticket is ended exactly once,
 * whatever came before; end without the last next says that nothing is known
 * of the build, and others who wait for it go on. PASS from next: what is not done
 * yet is the driver's to build, and nothing more is to be said of it.
 *
 * begin waits while another thread has a ticket for the same program, or another
 * process builds it; not for programs of deferred drivers, which each process and
 * thread builds as it would have. After some two minutes it gives up, with PASS.
 * So a thread has one ticket at a time (it gets PASS for a second one), and the
 * application, which may make threads wait for each other, is called (pfn_notify)
 * after end, never before.
 *
 * All functions may be called from all threads. One ticket is used by one thread
 * at a time. None throws, none calls back, none raises a signal; in a child that
 * was forked after the library was opened each answers PASS at once. What a
 * request points to is read during the call only; what a reply points to lives
 * until the ticket's next call of next or end.
 *
 * A hole of kind KSL_DEFERRED is also one whose binary nobody wants: programs
 * that cannot be cached are built and timed, but nothing is asked of them.
 */
#ifndef KERNSTASH_LAYER_H
#define KERNSTASH_LAYER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KSL_ABI 5u

/* A string or a piece of code, not terminated. data == NULL: there is none,
 * which is not the same as an empty one. */
typedef struct ksl_bytes {
	const void *data;
	size_t size;
} ksl_bytes;

/* Kinds of code. */
enum { KSL_OPENCL_C = 1, KSL_SPIRV = 2 };

typedef struct ksl_header { /* a header that the application hands over in memory */
	ksl_bytes name, code;
} ksl_header;

typedef struct ksl_constant { /* a specialization constant */
	uint32_t id;
	ksl_bytes value;
} ksl_constant;

typedef struct ksl_unit { /* what one program object was made of */
	uint32_t kind;
	uint32_t nstrings; /* clCreateProgramWithSource's; else 1 */
	const ksl_bytes *strings;
	uint32_t nheaders;
	uint32_t nconstants;
	const ksl_header *headers;
	const ksl_constant *constants;
	ksl_bytes options; /* of clCompileProgram; none for a build */
	uint64_t compiled; /* for KSL_LINK: what KSL_COMPILE's DONE calls it; else 0 */
} ksl_unit;

/* What is to happen: clBuildProgram; clLinkProgram of units that are all known;
 * clCompileProgram of one unit, of which is asked whether it is known to succeed,
 * and with which log. SERVE with a binary says yes (answer RESTORED): of one byte,
 * or, of a unit that reads header files, what the compiler made. With a hole it is
 * not known: KSL_BUILT needs the log, and a binary unless the hole is deferred.
 *
 * Passed through: links of units with different options or constants, and of
 * libraries. The order of units counts: equal units in another order are another link.
 *
 * A unit that reads header files means them as they were when it was compiled. DONE
 * of KSL_COMPILE calls it something then (reply.program), which stands for it in
 * links until it is given to released; 0: it reads none, or nobody knows which,
 * and links of it are passed through. Where it is not 0, a compilation that was
 * skipped must not be done later, as it would read what is there then: the compiled
 * program is made of the binary. Without one the driver compiles at once. */
enum { KSL_BUILD = 1, KSL_LINK = 2, KSL_COMPILE = 3 };

typedef struct ksl_driver { /* the platform's own entry points, beneath any layer */
	void *get_platform_info, *get_device_info;
	void *platform; /* cl_platform_id */
} ksl_driver;

typedef struct ksl_request {
	uint32_t size; /* of this structure */
	uint32_t what;
	const ksl_driver *driver;
	uint32_t ndevices;
	uint32_t nunits;
	void *const *devices; /* cl_device_id, in the application's order */
	const ksl_unit *units;
	ksl_bytes options; /* of clBuildProgram, or of clLinkProgram */

	/* The environment, NAME=value each and NULL at the end, as it was when the
	 * platforms were first asked for, just before their drivers read it; a copy
	 * of the shim's. With another one at the time of a build nobody knows which
	 * values hold in the driver, and nothing is cached. NULL: not known; then it
	 * is compared with that of the process's start. */
	const char *const *environment;

	/* What the shim saw of the directories that the process worked in, of which
	 * drivers read files when they are loaded: KSL_SETTINGS, KSL_MOVED. */
	uint32_t directories;
} ksl_request;

/* One of the files of settings of Intel's driver was in one of them; they were not all the
 * same. */
enum { KSL_SETTINGS = 1, KSL_MOVED = 2 };

enum { KSL_PASS = 0, KSL_SERVE = 1, KSL_DONE = 2 }; /* actions */

/* When a driver's code is complete. KSL_DEFERRED: ask it for no binary after a
 * build, and report launches. */
enum { KSL_FINAL = 0, KSL_INTERMEDIATE = 1, KSL_DEFERRED = 2 };

typedef struct ksl_arg { /* clGetKernelArgInfo's answers; name.data == NULL: the driver gives none */
	ksl_bytes name, type;
	uint32_t address, access; /* cl_kernel_arg_address_qualifier, ..._access_qualifier */
	uint64_t qualifiers;      /* cl_kernel_arg_type_qualifier */
} ksl_arg;

typedef struct ksl_kernel {
	ksl_bytes name, attributes;
	uint32_t nargs;
	const ksl_arg *args;
} ksl_kernel;

typedef struct ksl_artifact { /* what one device's part of a program is */
	ksl_bytes binary; /* what to restore from, or what was built; none: a hole */
	ksl_bytes answer; /* what CL_PROGRAM_BINARIES answers where that is another form; else none. A
	                   * size without data: the function answer is to be asked for it. */
	ksl_bytes log;
	uint32_t nkernels;
	const ksl_kernel *kernels;
	uint32_t kind;    /* KSL_FINAL, ... */

	/* In an answer to next: not 0 where this device needs nothing more. What the
	 * shim has of it stays, and its next outcome is not looked at. */
	uint32_t done;
} ksl_artifact;

typedef struct ksl_reply {
	uint32_t action;
	uint32_t nartifacts;           /* SERVE: the request's ndevices */
	const ksl_artifact *artifacts; /* SERVE: in the request's order */
	uint64_t ticket;               /* SERVE: for next and end; else 0 */
	uint64_t program;              /* DONE: for launched, answer and released, of KSL_COMPILE for links; 0: nobody wants to know */
	uint64_t saved;                /* DONE of KSL_COMPILE: nanoseconds that were counted as saved; for compiled_late */
	const char *reason;            /* PASS: why, for traces; else NULL */
} ksl_reply;

/* How it ended for one device. */
enum {
	KSL_RESTORED = 1, /* from the binary */
	KSL_REFUSED = 2,  /* the driver did not take the binary, or made another program of it: the entry goes.
	                   * Out of resources says nothing of the binary, and is KSL_ABANDONED. */
	KSL_BUILT = 3,    /* the driver built it; the artifact is what it made, binary none where deferred */
	KSL_FAILED = 4,   /* the compiler refused the program: the artifact holds the log */
	KSL_ABANDONED = 5 /* out of resources, or any other failure that says nothing of the program */
};

typedef struct ksl_outcome {
	uint32_t result;
	int32_t code;           /* the driver's, of KSL_FAILED and KSL_ABANDONED */
	uint64_t nanoseconds;   /* that the driver took for it */
	ksl_artifact artifact;  /* of KSL_BUILT, KSL_FAILED */
} ksl_outcome;

typedef struct ksl_api {
	uint32_t size; /* of this structure */
	uint32_t abi;

	/* Reply is filled in always; the return value is its action. */
	uint32_t (*begin)(const ksl_request *request, ksl_reply *reply);
	uint32_t (*next)(uint64_t ticket, uint32_t noutcomes, const ksl_outcome *outcomes, ksl_reply *reply);
	void (*end)(uint64_t ticket);

	/* A launch of a deferred program's kernel. local NULL: the driver chooses.
	 * The shim calls it for the first launch of each (kernel, dimensions, local
	 * size, offset is zero, grid below 65535, and global size where local is
	 * NULL), before the driver's call. */
	void (*launched)(uint64_t program, const char *kernel, uint32_t dimensions,
		const size_t *offset, const size_t *global, const size_t *local);

	/* Writes the binary that CL_PROGRAM_BINARIES answers for the device at a place of
	 * the request, whose artifact had size bytes of it and no data, to to, which is not
	 * the application's memory. 0: it is gone from the cache. Then the driver has to
	 * build the program to be asked. */
	uint32_t (*answer)(uint64_t program, uint32_t device, void *to, size_t size);

	/* The application has given the program, or the compiled unit, up. */
	void (*released)(uint64_t program);

	/* Counts something that the shim passed through by itself, by the name of
	 * the reason: "binary", "link of unknown inputs", "side effects", ... */
	void (*passed)(const char *reason);

	/* The driver's compiler is about to be called, whether or not the library was asked:
	 * it may keep what it reads of the environment now. */
	void (*compiles)(void);

	/* The driver has compiled a unit after all whose compilation had been found and
	 * skipped; it took so long, and so much (reply.saved) was not saved. */
	void (*compiled_late)(uint64_t nanoseconds, uint64_t saved);
} ksl_api;

/* The only symbol that a shim looks up. NULL: another ABI, or the library stays
 * out of this process (address-space limit, set-uid, KERNSTASH_DISABLE=1). */
const ksl_api *kernstash_layer_api(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
