#include "front.h"

#include <time.h>

/* A key longer than that is a mistake. */
enum { max_key = 1 << 30 };

static void put_bits(unsigned char *to, uint64_t bits)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(bits >> 8 * i);
}

/* Appends an item. False: no memory, and nothing changed. */
static bool append(ks_buffer *b, char kind, const void *data, size_t size)
{
	enum { head = 1 + 8 };
	size_t room = b->room > 0 ? b->room : 128;

	if (size > SIZE_MAX / 4)
		return false;
	while (room < b->size + head + size)
		room *= 2;
	if (room != b->room) {
		char *data = realloc(b->data, room);
		if (data == NULL)
			return false;
		b->data = data;
		b->room = room;
	}
	char *at = b->data + b->size;
	at[0] = kind;
	put_bits((unsigned char *)at + 1, size);
	if (size > 0)
		memcpy(at + head, data, size);
	b->size += head + size;
	return true;
}

int kernstash_lookup_open(kernstash_device *device, const char *program, kernstash_lookup **lookup)
{
	if (lookup != NULL)
		*lookup = NULL;
	if (device == NULL || program == NULL || lookup == NULL)
		return ks_fail(KERNSTASH_INVALID, "lookup: NULL");
	if (*program == '\0')
		return ks_fail(KERNSTASH_INVALID, "lookup: a program without a name");
	kernstash_lookup *l = calloc(1, sizeof *l);
	if (l == NULL || !append(&l->parts[ks_program], 'p', program, strlen(program))) {
		free(l);
		return ks_fail(KERNSTASH_NO_MEMORY, "lookup");
	}
	atomic_fetch_add_explicit(&device->uses, 1, memory_order_relaxed);
	l->device = device;
	*lookup = l;
	return KERNSTASH_OK;
}

/* A part that is refused leaves the key incomplete, and an incomplete key could be
 * another program's: from then on the lookup finds and stores nothing. */
static int refuse(kernstash_lookup *l, int status, const char *what, const char *why)
{
	if (l != NULL)
		l->incomplete = true;
	return ks_fail(status, "%s: %s", what, why);
}

/* Adds an item to a part of the key. */
static int add(kernstash_lookup *l, int part, char kind, const void *data, size_t size, const char *what)
{
	if (l == NULL || (data == NULL && size > 0))
		return refuse(l, KERNSTASH_INVALID, what, "NULL");
	if (l->fixed)
		return refuse(l, KERNSTASH_INVALID, what, "the lookup's key is fixed");
	if (size > max_key || l->parts[ks_material].size + l->parts[ks_variants].size > max_key - size)
		return refuse(l, KERNSTASH_INVALID, what, "too large");
	if (!append(&l->parts[part], kind, data, size))
		return refuse(l, KERNSTASH_NO_MEMORY, what, "no memory");
	return KERNSTASH_OK;
}

static int add_text(kernstash_lookup *l, int part, char kind, const char *text, const char *what)
{
	if (text == NULL)
		return refuse(l, KERNSTASH_INVALID, what, "NULL");
	return add(l, part, kind, text, strlen(text), what);
}

static int add_bits(kernstash_lookup *l, char kind, uint64_t bits, const char *what)
{
	unsigned char bytes[8];
	put_bits(bytes, bits);
	return add(l, ks_variants, kind, bytes, sizeof bytes, what);
}

int kernstash_lookup_context(kernstash_lookup *l, const void *data, size_t size)
{
	if (data == NULL)
		return refuse(l, KERNSTASH_INVALID, "context", "NULL");
	if (l != NULL && !l->fixed)
		l->parts[ks_context].size = 0;
	return add(l, ks_context, 'c', data, size, "context");
}

int kernstash_lookup_source(kernstash_lookup *l, const char *text, size_t size)
{
	if (l == NULL || text == NULL || size == 0)
		return refuse(l, KERNSTASH_INVALID, "source", "NULL, or empty");
	return add(l, ks_material, 's', text, size, "source");
}

int kernstash_lookup_library(kernstash_lookup *l, const char *name, const char *version)
{
	if (l == NULL || name == NULL || version == NULL || *name == '\0' || *version == '\0')
		return refuse(l, KERNSTASH_INVALID, "library", "NULL, or empty");
	int status = add_text(l, ks_material, 'l', name, "library");
	return status == KERNSTASH_OK ? add_text(l, ks_material, 'v', version, "library") : status;
}

int kernstash_lookup_int(kernstash_lookup *l, int64_t value) { return add_bits(l, 'i', (uint64_t)value, "int"); }

int kernstash_lookup_double(kernstash_lookup *l, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return add_bits(l, 'd', bits, "double");
}

int kernstash_lookup_string(kernstash_lookup *l, const char *value)
{
	return add_text(l, ks_variants, 't', value, "string");
}

int kernstash_lookup_bytes(kernstash_lookup *l, const void *data, size_t size)
{
	return add(l, ks_variants, 'b', data, size, "bytes");
}

int kernstash_lookup_options(kernstash_lookup *l, const char *options)
{
	return add_text(l, ks_variants, 'o', options, "options");
}

int ks_lookup_ask(kernstash_lookup *l, enum ks_entry entry, ks_lookup_call *c)
{
	l->fixed = true;
	c->lookup = l;
	return ks_ask(entry, &c->call);
}

int64_t ks_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool ks_lookup_take(kernstash_lookup *l, ks_blob *b, uint32_t origin)
{
	if (l->blob_count == l->blob_room) {
		size_t room = l->blob_room > 0 ? 2 * l->blob_room : 2;
		ks_blob **blobs = realloc(l->blobs, room * sizeof *blobs);
		if (blobs == NULL)
			return false;
		l->blobs = blobs;
		l->blob_room = room;
	}
	l->blobs[l->blob_count++] = b;
	l->blob = b;
	l->origin = origin;
	return true;
}

int ks_lookup_has_key(const kernstash_lookup *l)
{
	if (l->incomplete)
		return ks_fail(KERNSTASH_INVALID, "a part of the lookup's key was refused");
	if (l->parts[ks_material].size == 0)
		return ks_fail(KERNSTASH_NO_KEY, "a lookup needs a source or a library version");
	return KERNSTASH_OK;
}

int kernstash_lookup_found(kernstash_lookup *l)
{
	ks_lookup_call c = {0};

	if (l == NULL) {
		ks_fail(KERNSTASH_INVALID, "found: NULL");
		return 0;
	}
	if (ks_lookup_has_key(l) != KERNSTASH_OK)
		return 0;
	if (l->blob != NULL)
		return 1;
	if (ks_lookup_ask(l, ks_go_find, &c) == KERNSTASH_OK && ks_lookup_take(l, c.blob, c.origin))
		return 1;
	ks_blob_unuse(c.blob);
	if (l->missed_at == 0)
		l->missed_at = ks_now();
	return 0;
}

int kernstash_lookup_binary(const kernstash_lookup *l, const void **data, size_t *size)
{
	if (l == NULL || data == NULL || size == NULL)
		return ks_fail(KERNSTASH_INVALID, "binary: NULL");
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "binary: the lookup has none");
	*data = l->blob->artifact.data;
	*size = l->blob->artifact.data_size;
	return KERNSTASH_OK;
}

int kernstash_lookup_artifact(const kernstash_lookup *l, kernstash_artifact *artifact)
{
	if (l == NULL || artifact == NULL)
		return ks_fail(KERNSTASH_INVALID, "artifact: NULL");
	size_t size = artifact->size;
	if (size < offsetof(kernstash_artifact, log) || size > 4096)
		return ks_fail(KERNSTASH_INVALID, "artifact: %zu is not the size of kernstash_artifact", size);
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "artifact: the lookup has none");
	kernstash_artifact all = l->blob->artifact;
	all.size = size;
	all.origin = l->origin;
	memset(artifact, 0, size);
	memcpy(artifact, &all, size < sizeof all ? size : sizeof all);
	return KERNSTASH_OK;
}

int kernstash_lookup_set(kernstash_lookup *l, const void *data, size_t size)
{
	kernstash_artifact a = {.size = sizeof a, .data = data, .data_size = size};
	return kernstash_lookup_set_artifact(l, &a);
}

/* What an entry can hold; see docs/FORMAT.md. */
enum { max_launches = 4096 };

int kernstash_lookup_set_artifact(kernstash_lookup *l, const kernstash_artifact *artifact)
{
	kernstash_artifact a = {0};

	if (l == NULL || artifact == NULL)
		return ks_fail(KERNSTASH_INVALID, "set: NULL");
	if (artifact->size < offsetof(kernstash_artifact, log) || artifact->size > 4096)
		return ks_fail(KERNSTASH_INVALID, "set: %zu is not the size of kernstash_artifact", artifact->size);
	memcpy(&a, artifact, artifact->size < sizeof a ? artifact->size : sizeof a);
	if (a.data == NULL || a.data_size == 0)
		return ks_fail(KERNSTASH_INVALID, "set: no binary");
	if (a.data_size > SIZE_MAX / 4)
		return ks_fail(KERNSTASH_INVALID, "set: %zu bytes", a.data_size);
	if (a.form > KERNSTASH_FINAL || a.cost < 0)
		return ks_fail(KERNSTASH_INVALID, "set: form %u, cost %lld", a.form, (long long)a.cost);
	if (a.launch_count > max_launches || (a.launch_count > 0 && a.launches == NULL))
		return ks_fail(KERNSTASH_INVALID, "set: %zu launches", a.launch_count);
	for (size_t i = 0; i < a.launch_count; i++)
		if (a.launches[i] == NULL || *a.launches[i] == '\0')
			return ks_fail(KERNSTASH_INVALID, "set: a launch without a name");
	a.size = sizeof a;
	if (a.form == 0)
		a.form = KERNSTASH_FINAL;
	if (a.cost == 0 && l->missed_at != 0)
		a.cost = ks_now() - l->missed_at;
	ks_blob *b = ks_blob_new(&a);
	if (b == NULL || !ks_lookup_take(l, b, KERNSTASH_FROM_CALLER)) {
		ks_blob_unuse(b);
		return ks_fail(KERNSTASH_NO_MEMORY, "set: %zu bytes", a.data_size);
	}
	return KERNSTASH_OK;
}

int kernstash_lookup_populate(kernstash_lookup *l)
{
	ks_lookup_call c = {0};

	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "populate: NULL");
	int status = ks_lookup_has_key(l);
	if (status != KERNSTASH_OK)
		return status;
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "populate: nothing was set");
	if (l->origin == KERNSTASH_FROM_DISK)
		return KERNSTASH_OK; /* it is there */
	return ks_lookup_ask(l, ks_go_populate, &c);
}

int kernstash_lookup_refused(kernstash_lookup *l)
{
	ks_lookup_call c = {0};

	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "refused: NULL");
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "refused: the lookup has no binary");
	l->blob = NULL;
	if (l->parts[ks_material].size == 0 || l->incomplete)
		return KERNSTASH_OK; /* the caller's own */
	l->missed_at = ks_now();
	return ks_lookup_ask(l, ks_go_refuse, &c);
}

void ks_lookup_clear_failure(kernstash_lookup *l)
{
	free(l->fail_log);
	l->fail_log = NULL;
	l->fail_code = 0;
	l->failed = l->fail_said = false;
}

void kernstash_lookup_close(kernstash_lookup *l)
{
	if (l == NULL || l->building)
		return; /* a build that closes its own lookup: it is its caller's */
	if (l->key != 0) {
		ks_lookup_call c = {.lookup = l};
		(void)ks_enter(ks_go_forget, &c); /* no matter if not; and no detail is touched */
	}
	for (size_t i = 0; i < l->blob_count; i++)
		ks_blob_unuse(l->blobs[i]);
	free(l->blobs);
	ks_lookup_clear_failure(l);
	for (int i = 0; i < ks_parts; i++)
		free(l->parts[i].data);
	kernstash_device_close(l->device);
	free(l);
}
