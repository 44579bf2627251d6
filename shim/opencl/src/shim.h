/*
 * shim.h: what the parts of the OpenCL shim share.
 *
 * The application's program object is made by the driver as always. Where the cache knows what its build would
 * make, it is left unbuilt and answered for by a shadow: a second program, restored from the binary. Kernels are
 * the shadow's kernels, so nothing has to be translated where kernels are used.
 *
 * One lock guards the records of programs and kernels, but for counters and flags, which are atomic. No driver,
 * library or application is called under it.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_layer.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../library/library.h"
#include "../functions.h"

typedef void(CL_CALLBACK *notify_fn)(cl_program, void *);

/* The driver, or the next layer. Entries may be NULL. */
extern cl_icd_dispatch next;

/* table.c: records by handle. */

struct entry {
	void *key; /* the application's handle */
	struct entry *link;
	atomic_uint pins; /* who uses the record: its place in the table, kernels, calls */
	unsigned held;    /* the application's references */
};

enum { TABLE_HEADS = 4096 }; /* pages that are not written take no memory */

struct table {
	struct entry *heads[TABLE_HEADS];
};

void state_lock(void);
void state_unlock(void);
void state_guard_fork(void); /* the lock is free in forked children; called once, by who claimed */
/* What one thread has at a time; 0 to begin with. claim waits while another one has it, but not in a forked child
 * for a thread that is not there. */
void state_claim(atomic_uint *by);
bool state_claimed(unsigned by);
void state_release(atomic_uint *by);

struct entry *table_get(struct table *t, const void *key); /* pinned; NULL: it is none of ours */
void table_hold(struct table *t, const void *key);         /* the application has one reference more */
/* These under the lock. */
struct entry *table_find(struct table *t, const void *key);
/* What it takes the place of: an address that a dead object had, which we did not see die. Or NULL. */
struct entry *table_insert(struct table *t, struct entry *e);
void table_remove(struct table *t, struct entry *e); /* which is in it */

/* ask.c: libkernstash.so. */

/* Whether this thread may ask it; it is opened at the first call. */
bool library(void);
void layer_passed(const char *reason);
void library_told(struct message *event); /* frees that */
void library_released(uint64_t program);  /* 0: nothing */

/* What is asked for: clBuildProgram; clLinkProgram of units that are all known; clCompileProgram of one unit, of
 * which is asked whether it is known to succeed, and with which log. A binary says yes (answer KSF_RESTORED): of one
 * byte, or, of a unit that reads header files, what the compiler made. With a hole it is not known: KSF_BUILT needs
 * the log, and a binary unless the hole is deferred. The last is for a binary that a reply left out.
 *
 * Passed through: links of units with different options or constants, and of libraries. The order of units counts:
 * equal units in another order are another link.
 *
 * A unit that reads header files means them as they were when it was compiled. DONE of a compilation calls it
 * something then, which stands for it in links until it is released; 0: it reads none, or nobody knows which, and
 * links of it are passed through. Where it is not 0, a compilation that was skipped must not be done later, as it
 * would read what is there then: the compiled program is made of the binary. Without one the driver compiles at once.
 *
 * A thread has one ticket at a time (it gets KSF_PASS for a second one), and the application, which may make threads
 * wait for each other, is called (pfn_notify) after its end. */
enum { ASK_BUILD = 1, ASK_LINK, ASK_COMPILE, ASK_ANSWER };

/* What the library said; reply_end for each that has a ticket. */
struct reply {
	uint64_t ticket;
	uint64_t program, saved; /* of KSF_DONE */
	bool hit;                /* KSF_HIT: the message says something of each device of the request */
	ksf_message message;
};

/* What a step says of a device: the field of a tag, or NULL; its binary (no data: a hole); how many devices have
 * none; whether there is something in its log. */
const ksf_field *of_device(const ksf_message *m, cl_uint device, uint32_t tag);
ksf_field binary_of(const ksf_message *m, cl_uint device);
cl_uint holes_of(const ksf_message *m, cl_uint n);
bool has_log(const ksf_message *m, cl_uint device);
uint32_t kind_of(const ksf_message *m); /* KSF_FINAL, ...; the devices are one driver's */
/* The first device's next kernel; of NULL the first one. What is said of it is behind it. */
const ksf_field *next_kernel(const ksf_message *m, const ksf_field *k);

/* Says how it ended for each device (KSF_ENDED, ...), and frees that; the action that follows. What the reply held
 * is gone. */
uint32_t reply_next(struct reply *reply, cl_uint n, struct message *results);
void reply_end(struct reply *reply);

extern struct library_front library_layer;

/* inject.c: which way in. */

enum inject { INJECT_NONE, INJECT_LAYER, INJECT_PRELOAD, INJECT_AUTO };
enum inject inject_wanted(void);      /* by the environment; NONE: nothing was said */
bool inject_claim(enum inject d);     /* the first caller has it: false for all others */
bool in_own_call(void);         /* this thread's calls are the library's own */
/* Whether a function is of a library that is a driver. */
bool is_driver_of(const void *function);
/* Whether whatever decides what a program is made of, and is asked about it, is the loader's or a driver's:
 * another layer between, or an interposer, may change options and sources, of which we know nothing. */
bool nobody_between(const cl_icd_dispatch *target, const void *loader);
void dispatch_fill(cl_icd_dispatch *d, const cl_icd_dispatch *target); /* our functions where the target has some */

/* shadow.c */

struct shadow {
	uint64_t answers;    /* the library's name for what has answers of a size without data; else 0 */
	atomic_uint references;
	cl_program handle;
	cl_context context;  /* whose references it is not to show in; NULL: in none */
	bool late_done, built_well; /* the driver has built the same in the application's program, or would not */
	atomic_uint building_late; /* claimed by the caller that has the driver do so */
	bool is_program;     /* the handle is the application's own: a restored link */
	bool is_object;      /* of a compilation, to be linked */
	ksf_message *kept;       /* what the library said of each device, without the binaries */
	char *options;           /* as the application gave them, or NULL */
	cl_uint ndevices;
	cl_device_id devices[];
};

/* Copies what queries need of a step. NULL: no memory. */
struct shadow *shadow_new(cl_program handle, cl_uint ndevices, const cl_device_id *devices, const ksf_message *m,
	const char *options, bool is_object);
void shadow_put(struct shadow *s);
/* Makes a program of binaries. The driver says whether it takes them in status and code. */
cl_program of_binaries(cl_context context, cl_uint n, const cl_device_id *devices, const ksf_field *binaries, cl_int *status,
	cl_int *code);
/* The same, builds it, and adds a result for each device. NULL: not restored. */
cl_program restore(cl_context context, cl_uint n, const cl_device_id *devices, const ksf_message *m,
	const char *options, struct message *results);
/* Codes that say something of the binary, and not of the arguments or the moment. */
bool blames_binary(cl_int code);

/* programs.c */

struct constant {
	struct constant *link;
	cl_uint id;
	size_t size;
	unsigned char value[];
};

/* What clCompileProgram made of a program, of known parts. */
struct compiled {
	atomic_uint uses;    /* the program's, and calls' */
	ksf_message *unit;   /* what it is made of */
	const char *options; /* in that, or NULL */
	uint64_t id;         /* the library's name for what it read of files; 0: it reads none, or unknown */
	atomic_bool pending; /* known to succeed, and not done */
	uint64_t saved;      /* pending: nanoseconds that count as saved by that */
	atomic_uint doing;   /* claimed by who does it */
	ksf_message *known;  /* pending: for each device its log, and its object if it reads files */
	cl_uint n;
	cl_device_id devices[];
};

struct program {
	struct entry entry;
	atomic_uint kernels; /* kernels that the application holds */
	uint32_t kind;       /* of its code: KSF_OPENCL_C, KSF_SPIRV; 0: it has none */
	size_t length;       /* of that */
	const char *unknown; /* why it can not be asked for, or NULL */
	struct constant *constants;
	_Atomic cl_uint ndevices; /* 0: not asked yet */
	cl_device_id *devices;
	_Atomic uint64_t built; /* by the driver, or it may have, in the application's own program: a bit for each device */
	struct shadow *shadow;
	struct compiled *compiled; /* NULL: it was not, or of unknown parts */
	uint64_t id;         /* the library's name for the program; 0: none */
	uint64_t *launches;  /* that were told lately, by hash; NULL: none */
	unsigned nlaunches;  /* told */
	atomic_uint building; /* claimed by the caller that has it built */
	atomic_bool pending; /* a build by the driver, which will call back */
};

cl_program handle_of(const struct program *p);
struct program *program_add(cl_program handle, uint32_t kind, size_t length, const char *unknown);
/* Makes a program of intermediate language by a function of the driver's. */
typedef cl_program(CL_API_CALL *with_il_fn)(cl_context, const void *, size_t, cl_int *);
cl_program program_with_il(with_il_fn driver, cl_context context, const void *il, size_t length, cl_int *code);
struct program *program_get(cl_program handle); /* pinned, or NULL: none of ours */
void program_put(struct program *p); /* NULL: nothing */
/* Where a device is in a list, or -1. */
int index_of(cl_device_id device, cl_uint n, const cl_device_id *devices);
bool program_devices(struct program *p); /* fills in p->devices */
/* The program's device that a listed one is, or is a part of; NULL: none. */
cl_device_id program_device(const struct program *p, cl_device_id device);
/* The program's devices that a list of good ones stands for, each once. */
cl_uint program_list(const struct program *p, cl_uint n, const cl_device_id *devices, cl_device_id *list);
/* The set of the listed devices as bits; 0: one is not the program's, or is listed twice. */
uint64_t program_set(const struct program *p, cl_uint n, const cl_device_id *devices);

struct shadow *program_shadow(struct program *p); /* a reference, or NULL */
cl_uint programs_restored(cl_context context);    /* how many shadows there are in a context */
/* Makes s the program's shadow (NULL: none), and gives the program the library's name. */
void program_set_shadow(struct program *p, struct shadow *s, uint64_t id);
/* The driver has built something that we know nothing of. */
void program_taken_over(struct program *p);
void program_kernel_gone(struct program *p, bool restored);
/* Makes the driver build what the program was restored from, once: false if it would not.
 * Who comes while another thread is at it waits for that. */
bool program_build_late(struct program *p);

/* compile.c */

struct compiled *compiled_use(struct program *p); /* the program's, with a use of it; or NULL */
void compiled_unuse(struct compiled *c);          /* NULL: nothing */
/* Makes up for a compilation that was skipped: the driver has then compiled it, or the program has a shadow for
 * it, which is_object. With forget what was compiled is void. An error: the driver has no resources for it. */
cl_int program_compile(struct program *p, bool forget);
/* How many compilations that had been skipped were done later in this process; whether that was for links that
 * are not cached, as of libraries: this application wants its units themselves, and no more are skipped. */
extern atomic_uint compilations_late;
extern atomic_bool units_wanted;
/* Answers for a skipped compilation: false where the driver has to be asked, which has done it by then. */
bool pending_build_info(struct program *p, cl_device_id device, cl_program_build_info what, size_t room, void *to,
	size_t *size_ret, cl_int *code);

/* gather.c: what a build made. */

/* A query's answer in memory of ours, with a NUL after it; NULL: none. */
void *program_text(cl_program program, cl_program_info what, size_t *size);
/* A program's devices, 64 at most, and the sizes of the driver's binaries for them. */
cl_int binary_sizes(cl_program program, cl_uint *n, cl_device_id *devices, size_t *sizes);
/* What a result has besides the log: nothing, the names of kernels, or binaries with all about kernels. */
enum detail {
	WITH_LOG,
	WITH_NAMES,
	WITH_BINARIES
};
/* Writes a result for each device into an empty message: what the driver made, or why it failed. Whether it made
 * something, and tells. */
bool add_results(struct message *m, cl_program program, cl_uint n, const cl_device_id *devices, cl_int code, uint64_t took,
	enum detail detail);
bool refused_by_the_compiler(cl_int code);
cl_build_status build_status(cl_program program, cl_device_id device);

/* ask.c: what a program is made of. */

cl_platform_id platform_of(cl_device_id device); /* NULL: the driver does not tell */
cl_context program_context(const struct program *p);
/* Add what a program was made of, and what of a header that is handed over by name: false where that is not known. */
bool add_unit(struct message *m, struct program *p, const char *options);
bool add_header(struct message *m, cl_program handle, const char *name);
/* false: the driver is to do all of it. Else the reply is of KSF_HIT, and is to be ended. */
bool ask(uint32_t what, cl_uint n, const cl_device_id *devices, const ksf_message *units, const char *options,
	struct reply *reply);

/* build.c */

/* Whether the driver would take the arguments of a build: the set of devices, or 0. */
uint64_t arguments(struct program *p, cl_uint n, const cl_device_id *list, notify_fn notify, const void *user_data);
/* Has the driver itself build for the devices that the program was built for and that are not in the set, which is
 * built for next. Says whether there are any. */
bool build_others_late(struct program *p, uint64_t set);

/* pocl.c */

bool device_is_pocl(cl_device_id device);
enum pocl_cache { POCL_CACHE_UNKNOWN, POCL_CACHE_ON, POCL_CACHE_OFF };
/* Whether PoCL's own kernel cache is on in this process. */
enum pocl_cache pocl_cache(void);
/* A copy of a binary that shares PoCL's files with no other, for where its kernel cache is off; to be freed.
 * NULL: it is none that we know, or there is no memory. */
unsigned char *pocl_unshared(const ksf_field *binary);

/* driver.c: the driver's functions in which it compiles. They are next's, with the signals of crashes as they would
 * be without the library (see library_compiles) until the driver is through: if it is to call back, until it does. */

cl_int driver_build(cl_program program, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify,
	void *user_data);
cl_int driver_compile(cl_program program, cl_uint n, const cl_device_id *list, const char *options, cl_uint nheaders,
	const cl_program *headers, const char **names, notify_fn notify, void *user_data);
cl_program driver_link(cl_context context, cl_uint n, const cl_device_id *list, const char *options, cl_uint ninputs,
	const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code);

/* query.c */

/* Copies an answer as the driver's queries do. */
cl_int answer(const void *value, size_t size, size_t room, void *to, size_t *size_ret);
cl_int answer_text(const ksf_field *text, size_t room, void *to, size_t *size_ret); /* of a copy, with its NUL */

/* kernels.c */

/* Tells of a launch, or of a recorded one, unless that was told. */
void kernel_launched(cl_kernel handle, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local);

/* extension.c */

bool extension_stood_before(const char *name);

/* layers.c */

/* Whether a function's library looks at OPENCL_LAYERS, or is a loader of drivers; also where it cannot be told. */
bool knows_layers(const void *function);
bool is_loader(const void *function);
/* Whether an object of the process is linked to it: its calls reach us only where we are preloaded ourselves. */
bool somebody_is_linked(const void *function);
/* How many libraries have left the process. */
unsigned long long removals(void);

#define OURS(name) extern __typeof__(*next.name) ks_##name;
EACH_FUNCTION(OURS)
#undef OURS
