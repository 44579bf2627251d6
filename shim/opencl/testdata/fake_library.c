/*
 * fake_library.c: a library behind kernstash_front.h that is not one: it keeps
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
#include "../../../capi/kernstash_front.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUILD = 1, LINK, COMPILE, ANSWER }; /* what is asked: shim.h */

enum { FIELDS = 4096 };

struct device_entry {
	uint64_t key;
	void *file; /* what the fields point to; NULL: there is none */
	ksf_field *fields;
	size_t count;
};

struct ticket {
	int round;
	bool ended;
	uint32_t n;
	struct device_entry *entries;
	ksf_field *reply;
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

static const ksf_field *find_field(const ksf_message *m, uint32_t tag, uint32_t detail, uint32_t at)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->fields[i].tag == tag && m->fields[i].detail == detail && at-- == 0)
			return &m->fields[i];
	return NULL;
}

static uint32_t count(const ksf_message *m, uint32_t tag)
{
	uint32_t n = 0;
	for (size_t i = 0; i < m->count; i++)
		n += m->fields[i].tag == tag;
	return n;
}

/* Of the device's name, and all that says what is built. */
static uint64_t key_of(const ksf_message *r, uint32_t what, uint32_t device)
{
	char name[256] = "";
	cl_int (*info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
	*(void **)&info = (void *)(uintptr_t)find_field(r, KSF_FUNCTION, 1, 0)->number;
	info((cl_device_id)(uintptr_t)find_field(r, KSF_DEVICE, 0, device)->number, CL_DEVICE_NAME, sizeof(name), name, NULL);
	uint64_t h = add(UINT64_C(0xcbf29ce484222325), &what, sizeof(what));
	h = add(h, name, strlen(name));
	for (size_t i = 0; i < r->count; i++) {
		const ksf_field *f = &r->fields[i];
		unsigned char there = f->data != NULL;
		if (f->tag == KSF_UNIT || f->tag == KSF_CODE || f->tag == KSF_HEADER || f->tag == KSF_CONSTANT || f->tag == KSF_OPTIONS)
			h = add(add(add(add(h, &f->tag, sizeof(f->tag)), &f->detail, sizeof(f->detail)), &there, 1), f->data, f->size);
	}
	return h;
}

static void file_name(char *to, size_t room, uint64_t key)
{
	const char *store = getenv("FAKE_STORE");
	snprintf(to, room, "%s/%016llx", store == NULL ? "/nonexistent" : store, (unsigned long long)key);
}

/* Keeps n fields: each as it is, and its data behind it. */
static void keep(uint64_t key, const ksf_field *fields, size_t n)
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
	for (size_t i = 0; i < n; i++) {
		if (fields[i].tag == KSF_STATUS)
			continue;
		fwrite(&fields[i], sizeof(fields[i]), 1, f);
		if (fields[i].data != NULL)
			fwrite(fields[i].data, 1, fields[i].size, f);
	}
	fclose(f);
	rename(temporary, name);
}

static void forget(struct device_entry *e)
{
	free(e->file);
	free(e->fields);
	*e = (struct device_entry){.key = e->key};
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
	e->file = malloc(size + 1);
	e->fields = calloc(FIELDS, sizeof(*e->fields));
	if (fread(e->file, 1, size, f) != size)
		abort();
	fclose(f);
	for (const char *at = e->file, *last = at + size; at < last && e->count < FIELDS; e->count++) {
		ksf_field *to = &e->fields[e->count];
		memcpy(to, at, sizeof(*to));
		at += sizeof(*to);
		if (to->data == NULL)
			continue;
		to->data = at;
		at += to->size;
	}
}

static bool has_binary(const struct device_entry *e)
{
	return find_field(&(ksf_message){e->fields, e->count}, KSF_BINARY, 0, 0) != NULL;
}

/* Adds what is told of a device. */
static ksf_field *tell(struct ticket *t, uint32_t i, ksf_field *to)
{
	struct device_entry *e = &t->entries[i];
	const char *kind = getenv("FAKE_KIND");
	bool wrong = mode("stubborn") || (mode("refuse") && t->round == 0), hidden = mode("partial") && t->what == BUILD && i == 0;
	find(e);
	*to++ = (ksf_field){.tag = KSF_PART, .detail = kind == NULL ? KSF_FINAL : (uint32_t)atoi(kind)};
	t->object = t->what == COMPILE && has_binary(e);
	if (t->what == COMPILE && e->file != NULL && !t->object)
		*to++ = (ksf_field){.tag = KSF_BINARY, .data = "", .size = 1};
	if (hidden || !has_binary(e))
		return to;
	for (size_t j = 0; j < e->count; j++) {
		ksf_field f = e->fields[j];
		if (f.tag == KSF_BINARY && mode("gone"))
			*to++ = (ksf_field){.tag = KSF_ANSWER, .number = f.size};
		if (f.tag == KSF_BINARY && mode("answer"))
			*to++ = (ksf_field){.tag = KSF_ANSWER, .data = "the answer", .size = 10};
		if (f.tag == KSF_BINARY && wrong)
			f = (ksf_field){.tag = KSF_BINARY, .data = "no binary", .size = 9};
		*to++ = f;
	}
	return to;
}

static uint32_t serve(struct ticket *t, ksf_step *step)
{
	ksf_field *to = t->reply;
	for (uint32_t i = 0; i < t->n; i++)
		to = tell(t, i, to);
	if (mode("mangled"))
		*to++ = (ksf_field){.tag = KSF_PART};
	*step = (ksf_step){.action = KSF_HIT, .ticket = (uint64_t)(uintptr_t)t, .message = {t->reply, (size_t)(to - t->reply)}};
	t->round++;
	return KSF_HIT;
}

static uint32_t begin(uint32_t front, uint32_t what, const ksf_message *r, ksf_step *step)
{
	const ksf_field *platform = find_field(r, KSF_PLATFORM, 0, 0), *options = NULL;
	uint32_t n = count(r, KSF_DEVICE), units = count(r, KSF_UNIT);
	*step = (ksf_step){.action = KSF_PASS};
	if (what == ANSWER) {
		if (front != 1 || !mode("gone") || units != 1 || find_field(r, KSF_UNIT, 0, 0)->number == 0)
			abort();
		return KSF_PASS;
	}
	if (front != 1 || n == 0 || units == 0 || platform == NULL || platform->number == 0)
		abort();
	for (size_t i = 0; r->fields[i].tag != KSF_UNIT; i++)
		if (r->fields[i].tag == KSF_OPTIONS && r->fields[i].data != NULL)
			options = &r->fields[i];
	say("begin %s %u devices %u units options %s%.*s\n", what == BUILD ? "build" : what == LINK ? "link" : "compile", n, units,
		options == NULL ? "none" : "=", options == NULL ? 0 : (int)options->size, options == NULL ? "" : (const char *)options->data);
	if (mode("pass"))
		return KSF_PASS;
	if (mode("slow"))
		usleep(500000);
	struct ticket *t = calloc(1, sizeof(*t));
	t->n = n;
	t->what = what;
	t->entries = calloc(t->n, sizeof(*t->entries));
	t->reply = calloc(t->n + 1, FIELDS * sizeof(*t->reply));
	for (uint32_t i = 0; i < t->n; i++)
		t->entries[i].key = key_of(r, what, i);
	pthread_mutex_lock(&lock);
	live_tickets++;
	t->id = ++programs;
	pthread_mutex_unlock(&lock);
	return serve(t, step);
}

static void end(uint32_t front, uint64_t ticket);

static uint32_t then(uint32_t front, uint64_t ticket, const ksf_message *result, ksf_step *step)
{
	static const char *const names[] = {"", "restored", "refused", "built", "failed", "abandoned"};
	struct ticket *t = (struct ticket *)(uintptr_t)ticket;
	bool again = false;
	if (count(result, KSF_ENDED) != t->n || t->ended)
		abort();
	const ksf_field *at = result->fields, *last = at + result->count;
	for (uint32_t i = 0; i < t->n; i++) {
		const ksf_field *first = at++;
		while (at < last && at->tag != KSF_ENDED)
			at++;
		const ksf_message of = {first + 1, (size_t)(at - first - 1)};
		bool binary = find_field(&of, KSF_BINARY, 0, 0) != NULL;
		say("%s %d log %d kernels %u binary %d\n", names[first->detail], (int)(int32_t)first[1].detail,
			find_field(&of, KSF_LOG, 0, 0) != NULL, count(&of, KSF_KERNEL), binary);
		char name[512];
		file_name(name, sizeof(name), t->entries[i].key);
		if (t->what == LINK && mode("unlinked"))
			continue;
		if (first->detail == KSF_BUILT && (binary || t->what == COMPILE))
			keep(t->entries[i].key, of.fields, of.count);
		if (first->detail == KSF_REFUSED) {
			unlink(name);
			again = true;
		}
	}
	if (again)
		return serve(t, step);
	/* A compiled unit without an object is one that reads no files. */
	*step = (ksf_step){.action = KSF_DONE, .program = t->what != COMPILE || t->object ? t->id : 0};
	end(front, ticket);
	return KSF_DONE;
}

static void end(uint32_t front, uint64_t ticket)
{
	(void)front;
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

static void event(uint32_t front, uint32_t what, const ksf_message *m)
{
	const ksf_field *f = m->fields;
	if (front != 1 || what != 0 || m->count == 0)
		abort();
	switch (f->tag) {
	case KSF_LAUNCHED:
		if (f->number == 0 || m->count < 2 || m->count > 4)
			abort();
		say("launched %.*s", (int)f->size, (const char *)f->data);
		for (size_t i = 1; i < m->count; i++) {
			const size_t *sizes = m->fields[i].data;
			say(" %zu+%zu/%zu", sizes[0], sizes[1], sizes[2]);
		}
		say("\n");
		break;
	case KSF_RELEASED:
		if (f->number == 0)
			abort();
		say("released\n");
		break;
	case KSF_PASSED:
		say("passed %.*s\n", (int)f->size, (const char *)f->data);
		break;
	case KSF_COMPILED_LATE:
		say("compiled late\n");
		break;
	}
}

__attribute__((visibility("default"))) const ksf_api *kernstash_front(uint32_t abi, const char *runtime, uint32_t *front)
{
	static const ksf_api api = {sizeof(api), KSF_ABI, begin, then, end, event};
	say("opened\n");
	if (mode("abi") || abi != KSF_ABI || strcmp(runtime, "opencl") != 0)
		return NULL;
	*front = 1;
	return &api;
}
