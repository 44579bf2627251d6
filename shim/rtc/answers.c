/*
 * answers.c: a copy of what is stored of a program, in one piece of memory.
 */
#include "rtc.h"

#include <stdlib.h>
#include <string.h>

struct rtc_answers {
	ksr_output output;
	/* lowered, then texts, then data */
};

static ksr_answer *piece(ksr_output *o, unsigned i) { return i == LOG_PIECE ? &o->log : &o->forms[i]; }

static const void *copy(char **at, const void *data, size_t size)
{
	void *to = *at;
	if (data == NULL)
		return NULL;
	memcpy(to, data, size);
	*at += size;
	return to;
}

static size_t text(const char *s) { return s == NULL ? 0 : strlen(s) + 1; }

struct rtc_answers *rtc_answers_copy(const ksr_output *from)
{
	ksr_output o = *from;
	size_t size = sizeof(struct rtc_answers) + o.nlowered * sizeof *o.lowered;
	for (unsigned i = 0; i < PIECES; i++)
		size += piece(&o, i)->data.size;
	for (uint32_t i = 0; i < o.nlowered; i++)
		size += text(o.lowered[i].expression) + text(o.lowered[i].name);
	struct rtc_answers *a = malloc(size);
	if (a == NULL)
		return NULL;
	ksr_lowered *lowered = (ksr_lowered *)(a + 1);
	char *at = (char *)(lowered + o.nlowered);
	for (uint32_t i = 0; i < o.nlowered; i++) {
		const ksr_lowered *l = &from->lowered[i];
		lowered[i] = (ksr_lowered){copy(&at, l->expression, text(l->expression)), copy(&at, l->name, text(l->name)), l->code};
	}
	o.lowered = lowered;
	for (unsigned i = 0; i < PIECES; i++) {
		ksr_bytes *b = &piece(&o, i)->data;
		b->data = copy(&at, b->data, b->size);
	}
	a->output = o;
	return a;
}

const ksr_output *rtc_answers_output(const struct rtc_answers *a) { return &a->output; }

void rtc_answers_free(struct rtc_answers *a) { free(a); }
