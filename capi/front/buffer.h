/*
 * buffer.h: bytes that grow. What is appended is a sequence of items, each a kind,
 * its length in 8 bytes, and its bytes, so that no two sequences look alike.
 */
#ifndef KS_BUFFER_H
#define KS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ks_buffer {
	char *data; /* malloc's */
	size_t size, room;
} ks_buffer;

/* False: no memory, and nothing changed. */
bool ks_buffer_item(ks_buffer *b, char kind, const void *data, size_t size);
bool ks_buffer_word(ks_buffer *b, const char *word); /* words with a space between */
void ks_buffer_free(ks_buffer *b);

#endif
