/*
 * fake_library.c: a library behind kernstash_layer.h that is not one: it keeps
 * artifacts as files in FAKE_STORE, writes what it is asked to FAKE_LOG, and
 * does wrong what FAKE names:
 *
 *     pass       nothing is known, ever
 *     refuse     the first answer is no binary of any driver
 *     stubborn   all answers are
 *     mangled    answers that contradict the contract
 *     answer     CL_PROGRAM_BINARIES is to answer with something else
 *     gone       that was left out, and is gone when it is asked for
 *     partial    the first device is always missing
 *     slow       begin takes half a second
 *     unlinked   no link is known, ever
 *
 * FAKE_KIND is the kind of the driver's code.
 */
#include "../../../capi/kernstash_layer.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct device_entry {
	uint64_t key;
	ksl_artifact artifact;
	void *file; /* what the artifact points to */
	ksl_kernel *kernels;
};

struct ticket {
	int round;
	bool ended;
	uint32_t n;
	struct device_entry *entries;
	ksl_artifact *reply;
	uint32_t what;
	uint64_t id;
	bool object; /* it serves what a compiler made */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t programs;
static int live_tickets;

static bool mode(const char *name)
{
	const char *m = getenv("FAKE");
	return m != NULL && strcmp(m, name) == 0;
}

static void say(const char *format, ...)
{
	const char *name = getenv("FAKE_LOG");
	char line[1024];
	va_list list;
	if (name == NULL)
		return;
	va_start(list, format);
	int n = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	FILE *f = fopen(name, "a");
	if (f != NULL) {
		fwrite(line, 1, (size_t)n, f);
		fclose(f);
	}
}

static uint64_t add(uint64_t h, const void *data, size_t size)
{
	const unsigned char *at = data;
	h = (h ^ (size + 1)) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < size; i++)
		h = (h ^ at[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

static uint64_t add_bytes(uint64_t h, ksl_bytes b)
{
	unsigned char there = b.data != NULL;
	return add(add(h, &there, 1), b.data, b.size);
}

static uint64_t key_of(const ksl_request *r, uint32_t device)
{
	char name[256] = "";
	cl_int (*info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
	*(void **)&info = r->driver->get_device_info;
	info(r->devices[device], CL_DEVICE_NAME, sizeof(name), name, NULL);
	uint64_t h = add(UINT64_C(0xcbf29ce484222325), &r->what, sizeof(r->what));
	h = add(h, name, strlen(name));
	h = add_bytes(h, r->options);
	for (uint32_t i = 0; i < r->nunits; i++) {
		const ksl_unit *u = &r->units[i];
		h = add(h, &u->kind, sizeof(u->kind));
		for (uint32_t j = 0; j < u->nstrings; j++)
			h = add_bytes(h, u->strings[j]);
		for (uint32_t j = 0; j < u->nheaders; j++)
			h = add_bytes(add_bytes(h, u->headers[j].name), u->headers[j].code);
		for (uint32_t j = 0; j < u->nconstants; j++)
			h = add_bytes(add(h, &u->constants[j].id, sizeof(uint32_t)), u->constants[j].value);
		h = add_bytes(h, u->options);
	}
	return h;
}

/* Files: numbers of eight bytes, and bytes after their size, -1 for none. */

static void put(FILE *f, uint64_t v) { fwrite(&v, sizeof(v), 1, f); }

static void put_bytes(FILE *f, ksl_bytes b)
{
	put(f, b.data == NULL ? UINT64_MAX : b.size);
	if (b.data != NULL)
		fwrite(b.data, 1, b.size, f);
}

static uint64_t get(const char **at)
{
	uint64_t v;
	memcpy(&v, *at, sizeof(v));
	*at += sizeof(v);
	return v;
}

static ksl_bytes get_bytes(const char **at)
{
	uint64_t n = get(at);
	if (n == UINT64_MAX)
		return (ksl_bytes){NULL, 0};
	ksl_bytes b = {*at, n};
	*at += n;
	return b;
}

static void file_name(char *to, size_t room, uint64_t key)
{
	const char *store = getenv("FAKE_STORE");
	snprintf(to, room, "%s/%016llx", store == NULL ? "/nonexistent" : store, (unsigned long long)key);
}

static void keep(uint64_t key, const ksl_artifact *a)
{
	char name[512], temporary[600];
	static int serial;
	file_name(name, sizeof(name), key);
	pthread_mutex_lock(&lock);
	snprintf(temporary, sizeof(temporary), "%s.%d.%d", name, (int)getpid(), serial++);
	pthread_mutex_unlock(&lock);
	FILE *f = fopen(temporary, "w");
	if (f == NULL)
		return;
	put(f, a->kind);
	put_bytes(f, a->binary);
	put_bytes(f, a->answer);
	put_bytes(f, a->log);
	put(f, a->nkernels);
	for (uint32_t i = 0; i < a->nkernels; i++) {
		put_bytes(f, a->kernels[i].name);
		put_bytes(f, a->kernels[i].attributes);
		put(f, a->kernels[i].nargs);
		for (uint32_t j = 0; j < a->kernels[i].nargs; j++) {
			const ksl_arg *arg = &a->kernels[i].args[j];
			put_bytes(f, arg->name);
			put_bytes(f, arg->type);
			put(f, arg->address);
			put(f, arg->access);
			put(f, arg->qualifiers);
		}
	}
	fclose(f);
	rename(temporary, name);
}

static void forget(struct device_entry *e)
{
	for (uint32_t i = 0; e->kernels != NULL && i < e->artifact.nkernels; i++)
		free((void *)e->kernels[i].args);
	free(e->kernels);
	free(e->file);
	uint64_t key = e->key;
	memset(e, 0, sizeof(*e));
	e->key = key;
}

static void find(struct device_entry *e)
{
	char name[512];
	forget(e);
	file_name(name, sizeof(name), e->key);
	FILE *f = fopen(name, "r");
	if (f == NULL)
		return;
	fseek(f, 0, SEEK_END);
	size_t size = (size_t)ftell(f);
	rewind(f);
	e->file = malloc(size);
	if (fread(e->file, 1, size, f) != size)
		abort();
	fclose(f);
	const char *at = e->file;
	e->artifact.kind = (uint32_t)get(&at);
	e->artifact.binary = get_bytes(&at);
	e->artifact.answer = get_bytes(&at);
	e->artifact.log = get_bytes(&at);
	e->artifact.nkernels = (uint32_t)get(&at);
	e->kernels = calloc(e->artifact.nkernels + 1, sizeof(*e->kernels));
	e->artifact.kernels = e->kernels;
	for (uint32_t i = 0; i < e->artifact.nkernels; i++) {
		e->kernels[i].name = get_bytes(&at);
		e->kernels[i].attributes = get_bytes(&at);
		e->kernels[i].nargs = (uint32_t)get(&at);
		ksl_arg *args = calloc(e->kernels[i].nargs + 1, sizeof(*args));
		e->kernels[i].args = args;
		for (uint32_t j = 0; j < e->kernels[i].nargs; j++) {
			args[j].name = get_bytes(&at);
			args[j].type = get_bytes(&at);
			args[j].address = (uint32_t)get(&at);
			args[j].access = (uint32_t)get(&at);
			args[j].qualifiers = get(&at);
		}
	}
}

static uint32_t serve(struct ticket *t, ksl_reply *reply)
{
	const char *kind = getenv("FAKE_KIND");
	for (uint32_t i = 0; i < t->n; i++) {
		find(&t->entries[i]);
		t->reply[i] = t->entries[i].artifact;
		if (t->reply[i].binary.data == NULL)
			t->reply[i] = (ksl_artifact){.kind = kind == NULL ? KSL_FINAL : (uint32_t)atoi(kind)};
		t->object = t->what == KSL_COMPILE && t->reply[i].binary.data != NULL;
		if (t->what == KSL_COMPILE && t->entries[i].file != NULL && !t->object)
			t->reply[i].binary = (ksl_bytes){"", 1};
		bool wrong = mode("stubborn") || (mode("refuse") && t->round == 0);
		if (wrong && t->reply[i].binary.data != NULL)
			t->reply[i].binary = (ksl_bytes){"no binary", 9};
	}
	for (uint32_t i = 0; mode("answer") && i < t->n; i++) {
		if (t->reply[i].binary.data != NULL)
			t->reply[i].answer = (ksl_bytes){"the answer", 10};
	}
	for (uint32_t i = 0; mode("gone") && i < t->n; i++)
		t->reply[i].answer = (ksl_bytes){NULL, t->reply[i].binary.size};
	if (mode("partial") && t->what == KSL_BUILD)
		t->reply[0] = (ksl_artifact){.kind = t->reply[0].kind};
	*reply = (ksl_reply){.action = KSL_SERVE, .nartifacts = t->n, .artifacts = t->reply, .ticket = (uint64_t)(uintptr_t)t};
	if (mode("mangled"))
		reply->nartifacts = 0x7fffffff;
	t->round++;
	return KSL_SERVE;
}

static uint32_t begin(const ksl_request *r, ksl_reply *reply)
{
	if (r->size != sizeof(*r) || r->ndevices == 0 || r->nunits == 0 || r->driver->platform == NULL)
		abort();
	say("begin %s %u devices %u units options %s%.*s\n", r->what == KSL_BUILD ? "build" : r->what == KSL_LINK ? "link" : "compile",
		r->ndevices, r->nunits, r->options.data == NULL ? "none" : "=", (int)r->options.size,
		r->options.data == NULL ? "" : (const char *)r->options.data);
	*reply = (ksl_reply){.action = KSL_PASS, .reason = "asked to"};
	if (mode("pass"))
		return KSL_PASS;
	if (mode("slow"))
		usleep(500000);
	struct ticket *t = calloc(1, sizeof(*t));
	t->n = r->ndevices;
	t->what = r->what;
	t->entries = calloc(t->n, sizeof(*t->entries));
	t->reply = calloc(t->n, sizeof(*t->reply));
	for (uint32_t i = 0; i < t->n; i++)
		t->entries[i].key = key_of(r, i);
	pthread_mutex_lock(&lock);
	live_tickets++;
	t->id = ++programs;
	pthread_mutex_unlock(&lock);
	return serve(t, reply);
}

static uint32_t then(uint64_t ticket, uint32_t n, const ksl_outcome *outcomes, ksl_reply *reply)
{
	static const char *const names[] = {"", "restored", "refused", "built", "failed", "abandoned"};
	struct ticket *t = (struct ticket *)(uintptr_t)ticket;
	bool again = false;
	if (n != t->n || t->ended)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		const ksl_outcome *o = &outcomes[i];
		say("%s %d log %d kernels %u binary %d\n", names[o->result], (int)o->code, o->artifact.log.data != NULL,
			o->artifact.nkernels, o->artifact.binary.data != NULL);
		char name[512];
		file_name(name, sizeof(name), t->entries[i].key);
		if (t->what == KSL_LINK && mode("unlinked"))
			continue;
		if (o->result == KSL_BUILT && (o->artifact.binary.data != NULL || t->what == KSL_COMPILE))
			keep(t->entries[i].key, &o->artifact);
		if (o->result == KSL_REFUSED) {
			unlink(name);
			again = true;
		}
	}
	if (again)
		return serve(t, reply);
	/* A compiled unit without an object is one that reads no files. */
	*reply = (ksl_reply){.action = KSL_DONE, .program = t->what != KSL_COMPILE || t->object ? t->id : 0};
	return KSL_DONE;
}

static void end(uint64_t ticket)
{
	struct ticket *t = (struct ticket *)(uintptr_t)ticket;
	if (t->ended)
		abort();
	t->ended = true;
	for (uint32_t i = 0; i < t->n; i++)
		forget(&t->entries[i]);
	pthread_mutex_lock(&lock);
	int left = --live_tickets;
	pthread_mutex_unlock(&lock);
	say("end %d\n", left);
	free(t->entries);
	free(t->reply);
	free(t);
}

static void launched(uint64_t program, const char *kernel, uint32_t dimensions, const size_t *offset, const size_t *global,
	const size_t *local)
{
	if (program == 0 || dimensions < 1 || dimensions > 3)
		abort();
	say("launched %s", kernel);
	for (uint32_t i = 0; i < dimensions; i++)
		say(" %zu+%zu/%zu", offset == NULL ? (size_t)0 : offset[i], global[i], local == NULL ? (size_t)0 : local[i]);
	say("\n");
}

static uint32_t answer_of(uint64_t program, uint32_t device, void *to, size_t size)
{
	(void)device;
	if (!mode("gone") || program == 0 || to == NULL || size == 0)
		abort();
	return 0;
}

static void released(uint64_t program)
{
	if (program == 0)
		abort();
	say("released\n");
}

static void passed(const char *reason) { say("passed %s\n", reason); }

static void compiles(void) {}

static void compiled_late(uint64_t nanoseconds, uint64_t saved)
{
	(void)nanoseconds, (void)saved;
	say("compiled late\n");
}

__attribute__((visibility("default"))) const ksl_api *kernstash_layer_api(uint32_t abi)
{
	static const ksl_api api = {sizeof(api), KSL_ABI, begin, then, end, launched, answer_of, released, passed, compiles,
		compiled_late};
	say("opened\n");
	if (mode("abi"))
		return NULL;
	return abi == KSL_ABI ? &api : NULL;
}
