#include "buffer.h"

#include <stdlib.h>
#include <string.h>

static bool grow(ks_buffer *b, size_t more)
{
	size_t room = b->room > 0 ? b->room : 128;
	char *data;

	if (more > SIZE_MAX / 4 - b->size)
		return false;
	while (room < b->size + more)
		room *= 2;
	if (room == b->room)
		return true;
	data = realloc(b->data, room);
	if (data == NULL)
		return false;
	b->data = data;
	b->room = room;
	return true;
}

static void put(ks_buffer *b, const void *data, size_t size)
{
	if (size > 0)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

bool ks_buffer_item(ks_buffer *b, char kind, const void *data, size_t size)
{
	unsigned char head[9] = {(unsigned char)kind};

	if (size > SIZE_MAX / 4 || !grow(b, sizeof head + size))
		return false;
	for (int i = 0; i < 8; i++)
		head[1 + i] = (unsigned char)((uint64_t)size >> 8 * i);
	put(b, head, sizeof head);
	put(b, data, size);
	return true;
}

bool ks_buffer_word(ks_buffer *b, const char *word)
{
	size_t size = strlen(word);

	if (size > SIZE_MAX / 4 || !grow(b, size + 1))
		return false;
	if (b->size > 0)
		put(b, " ", 1);
	put(b, word, size);
	return true;
}

void ks_buffer_free(ks_buffer *b)
{
	free(b->data);
	*b = (ks_buffer){0};
}
