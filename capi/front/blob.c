#include "calls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Device code may be mapped by drivers as it is. */
enum { alignment = 64 };

/* Larger ones have pages of their own: they come and go, and would leave holes in
 * the host's heap. */
enum { large = 64 << 10 };

static void *get(size_t size)
{
	void *at;

	if (size >= large) {
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		return at != MAP_FAILED ? at : NULL;
	}
	return posix_memalign(&at, alignment, size) == 0 ? at : NULL;
}

static void give_back(void *at, size_t size)
{
	if (size >= large)
		munmap(at, size);
	else
		free(at);
}

static char *copy(char **at, const void *data, size_t size)
{
	char *to = *at;
	memcpy(to, data, size);
	*at += size;
	return to;
}

ks_blob *ks_blob_new(const kernstash_artifact *a)
{
	size_t head = (sizeof(ks_blob) + alignment - 1) / alignment * alignment;
	size_t names = a->launch_count * sizeof(char *);
	size_t log = a->log != NULL ? strlen(a->log) + 1 : 0;
	size_t size = head + names, text = log;
	char *at;
	ks_blob *b;

	for (size_t i = 0; i < a->launch_count; i++)
		text += strlen(a->launches[i]) + 1;
	if (a->data_size > SIZE_MAX - alignment - size - text)
		return NULL;
	/* Head, code (at a multiple of 64), names, texts. */
	size_t code = (a->data_size + alignment - 1) / alignment * alignment;
	b = get(size + code + text);
	if (b == NULL)
		return NULL;
	atomic_init(&b->uses, 1);
	b->size = size + code + text;
	b->artifact = *a;
	at = (char *)b + head;
	memcpy(at, a->data, a->data_size);
	b->artifact.data = at;
	const char **launches = (const char **)(void *)(at + code);
	at += code + names;
	for (size_t i = 0; i < a->launch_count; i++)
		launches[i] = copy(&at, a->launches[i], strlen(a->launches[i]) + 1);
	b->artifact.launches = a->launch_count > 0 ? launches : NULL;
	if (log > 0)
		b->artifact.log = copy(&at, a->log, log);
	return b;
}

ks_blob *ks_blob_use(ks_blob *b)
{
	atomic_fetch_add_explicit(&b->uses, 1, memory_order_relaxed);
	return b;
}

void ks_blob_unuse(ks_blob *b)
{
	if (b != NULL && atomic_fetch_sub_explicit(&b->uses, 1, memory_order_acq_rel) == 1)
		give_back(b, b->size);
}
