#define _GNU_SOURCE
#include "lookup.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>


/* A key longer than that is a mistake. */
enum { max_key = 1 << 30 };

int kernstash_lookup_open(kernstash_device *device, const char *program, kernstash_lookup **lookup)
{
	kernstash_lookup *l;

	if (lookup != NULL)
		*lookup = NULL;
	if (device == NULL || program == NULL || lookup == NULL)
		return ks_fail(KERNSTASH_INVALID, "lookup: NULL");
	if (*program == '\0')
		return ks_fail(KERNSTASH_INVALID, "lookup: a program without a name");
	l = calloc(1, sizeof *l);
	if (l == NULL || !ks_buffer_item(&l->program, 'p', program, strlen(program))) {
		free(l);
		return ks_fail(KERNSTASH_NO_MEMORY, "lookup");
	}
	l->device = ks_device_use(device);
	*lookup = l;
	return KERNSTASH_OK;
}

/* A part that is refused leaves the key incomplete, and an incomplete key could be
 * another program's: from then on the lookup finds and stores nothing. */
__attribute__((format(printf, 3, 4))) static int refuse(kernstash_lookup *l, int status, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (l != NULL)
		l->incomplete = true;
	return ks_fail(status, "%s", text);
}

/* Adds an item to a part of the key. */
static int add(kernstash_lookup *l, ks_buffer *b, char kind, const void *data, size_t size, const char *what)
{
	if (data == NULL && size > 0)
		return refuse(l, KERNSTASH_INVALID, "%s: NULL", what);
	if (l->fixed)
		return refuse(l, KERNSTASH_INVALID, "%s: the lookup's key is fixed", what);
	if (size > max_key || l->material.size + l->variants.size > max_key - size)
		return refuse(l, KERNSTASH_INVALID, "%s: %zu bytes", what, size);
	if (!ks_buffer_item(b, kind, data, size))
		return refuse(l, KERNSTASH_NO_MEMORY, "%s", what);
	return KERNSTASH_OK;
}

int kernstash_lookup_context(kernstash_lookup *l, const void *data, size_t size)
{
	ks_buffer b = {0};
	int status;

	if (l == NULL || data == NULL)
		return refuse(l, KERNSTASH_INVALID, "context: NULL");
	status = add(l, &b, 'c', data, size, "context");
	if (status == KERNSTASH_OK) {
		ks_buffer_free(&l->context);
		l->context = b;
	}
	return status;
}

int kernstash_lookup_source(kernstash_lookup *l, const char *text, size_t size)
{
	if (l == NULL || text == NULL || size == 0)
		return refuse(l, KERNSTASH_INVALID, "source: NULL, or empty");
	l->sourced = true;
	return add(l, &l->material, 's', text, size, "source");
}

int kernstash_lookup_library(kernstash_lookup *l, const char *name, const char *version)
{
	int status;

	if (l == NULL || name == NULL || version == NULL || *name == '\0' || *version == '\0')
		return refuse(l, KERNSTASH_INVALID, "library: NULL, or empty");
	status = add(l, &l->material, 'l', name, strlen(name), "library");
	if (status == KERNSTASH_OK)
		status = add(l, &l->material, 'v', version, strlen(version), "library");
	l->versioned = true;
	return status;
}

static int add_bits(kernstash_lookup *l, char kind, uint64_t bits, const char *what)
{
	unsigned char bytes[8];

	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "%s: NULL", what);
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(bits >> 8 * i);
	return add(l, &l->variants, kind, bytes, sizeof bytes, what);
}

int kernstash_lookup_int(kernstash_lookup *l, int64_t value)
{
	return add_bits(l, 'i', (uint64_t)value, "int");
}

int kernstash_lookup_double(kernstash_lookup *l, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return add_bits(l, 'd', bits, "double");
}

int kernstash_lookup_string(kernstash_lookup *l, const char *value)
{
	if (l == NULL || value == NULL)
		return refuse(l, KERNSTASH_INVALID, "string: NULL");
	return add(l, &l->variants, 't', value, strlen(value), "string");
}

int kernstash_lookup_bytes(kernstash_lookup *l, const void *data, size_t size)
{
	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "bytes: NULL");
	return add(l, &l->variants, 'b', data, size, "bytes");
}

int kernstash_lookup_options(kernstash_lookup *l, const char *options)
{
	int status;

	if (l == NULL || options == NULL)
		return refuse(l, KERNSTASH_INVALID, "options: NULL");
	status = add(l, &l->variants, 'o', options, strlen(options), "options");
	/* Once more, for people who look at the entry: the variants are what counts. */
	if (status == KERNSTASH_OK && *options != '\0' && !ks_buffer_word(&l->options, options))
		status = refuse(l, KERNSTASH_NO_MEMORY, "options");
	return status;
}

ks_request ks_lookup_request(kernstash_lookup *l)
{
	l->fixed = true;
	return (ks_request){
		.device = l->device->go,
		.program = {l->program.data, l->program.size},
		.context = {l->context.data, l->context.size},
		.material = {l->material.data, l->material.size},
		.variants = {l->variants.data, l->variants.size},
		.options = {l->options.data, l->options.size},
		.sourced = l->sourced,
		.versioned = l->versioned,
	};
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
	if (l->material.size == 0)
		return ks_fail(KERNSTASH_NO_KEY, "a lookup needs a source or a library version");
	return KERNSTASH_OK;
}

int kernstash_lookup_found(kernstash_lookup *l)
{
	ks_lookup_call c = {0};
	ks_request r;
	int status;

	if (l == NULL) {
		ks_fail(KERNSTASH_INVALID, "found: NULL");
		return 0;
	}
	if (ks_lookup_has_key(l) != KERNSTASH_OK)
		return 0;
	if (l->blob != NULL)
		return 1;
	r = ks_lookup_request(l);
	c.request = &r;
	c.key = l->key;
	status = ks_ask(ks_go_find, &c.call);
	l->key = c.key;
	if (status == KERNSTASH_OK && ks_lookup_take(l, c.blob, c.memory ? KERNSTASH_FROM_MEMORY : KERNSTASH_FROM_DISK))
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
	kernstash_artifact all;
	size_t size;

	if (l == NULL || artifact == NULL)
		return ks_fail(KERNSTASH_INVALID, "artifact: NULL");
	size = artifact->size;
	if (size < offsetof(kernstash_artifact, log) || size > 4096)
		return ks_fail(KERNSTASH_INVALID, "artifact: %zu is not the size of kernstash_artifact", size);
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "artifact: the lookup has none");
	all = l->blob->artifact;
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
	ks_blob *b;

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
	b = ks_blob_new(&a);
	if (b == NULL || !ks_lookup_take(l, b, KERNSTASH_FROM_CALLER)) {
		ks_blob_unuse(b);
		return ks_fail(KERNSTASH_NO_MEMORY, "set: %zu bytes", a.data_size);
	}
	return KERNSTASH_OK;
}

int kernstash_lookup_populate(kernstash_lookup *l)
{
	ks_lookup_call c = {0};
	ks_request r;
	int status;

	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "populate: NULL");
	status = ks_lookup_has_key(l);
	if (status != KERNSTASH_OK)
		return status;
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "populate: nothing was set");
	if (l->origin == KERNSTASH_FROM_DISK)
		return KERNSTASH_OK; /* it is there */
	r = ks_lookup_request(l);
	c.request = &r;
	c.key = l->key;
	c.blob = l->blob;
	status = ks_ask(ks_go_populate, &c.call);
	l->key = c.key;
	return status;
}

int kernstash_lookup_refused(kernstash_lookup *l)
{
	ks_lookup_call c = {0};
	ks_request r;
	int status;

	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "refused: NULL");
	if (l->blob == NULL)
		return ks_fail(KERNSTASH_NOT_FOUND, "refused: the lookup has no binary");
	l->blob = NULL;
	if (l->material.size == 0 || l->incomplete)
		return KERNSTASH_OK; /* the caller's own */
	r = ks_lookup_request(l);
	c.request = &r;
	c.key = l->key;
	status = ks_ask(ks_go_refuse, &c.call);
	l->key = c.key;
	l->missed_at = ks_now();
	return status;
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
		ks_lookup_call c = {0};
		c.key = l->key;
		(void)ks_enter(ks_go_forget, &c); /* no matter if not; and no detail is touched */
	}
	for (size_t i = 0; i < l->blob_count; i++)
		ks_blob_unuse(l->blobs[i]);
	free(l->blobs);
	ks_lookup_clear_failure(l);
	ks_buffer_free(&l->program);
	ks_buffer_free(&l->context);
	ks_buffer_free(&l->material);
	ks_buffer_free(&l->variants);
	ks_buffer_free(&l->options);
	kernstash_device_close(l->device);
	free(l);
}
