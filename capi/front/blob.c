#include "front.h"

/* Device code may be mapped by drivers as it is. */
enum { alignment = 64 };

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

	for (size_t i = 0; i < a->launch_count; i++)
		text += strlen(a->launches[i]) + 1;
	if (a->data_size > SIZE_MAX - alignment - size - text)
		return NULL;
	/* Head, code (at a multiple of 64), names, texts. */
	size_t code = (a->data_size + alignment - 1) / alignment * alignment;
	void *memory;
	if (posix_memalign(&memory, alignment, size + code + text) != 0)
		return NULL;
	ks_blob *b = memory;
	atomic_init(&b->uses, 1);
	b->artifact = *a;
	char *at = (char *)b + head;
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

void ks_blob_unuse(ks_blob *b)
{
	if (b != NULL && atomic_fetch_sub_explicit(&b->uses, 1, memory_order_acq_rel) == 1)
		free(b);
}
