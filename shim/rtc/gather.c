/*
 * gather.c: what a compile made.
 */
#include "rtc.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 30 }; /* bytes of a piece */

/* Asks the real library for a piece. false: no memory, or its size makes no sense. */
static bool ask(const struct rtc_program *p, unsigned piece, struct rtc_gathered *g)
{
	ksr_answer *a = piece == LOG_PIECE ? &g->output.log : &g->output.forms[piece];
	rtc_size_fn size;
	rtc_get_fn get;
	size_t n = 0;
	*(void **)&size = p->library->real[RTC_SIZE + piece];
	*(void **)&get = p->library->real[RTC_GET + piece];
	if (size == NULL || get == NULL)
		return true;
	a->asked = 1;
	a->code = size(p->handle, &n);
	if (a->code != 0 || n == 0)
		return true;
	if (n > LARGEST || (g->memory[piece] = malloc(n)) == NULL)
		return false;
	a->code = get(p->handle, g->memory[piece]);
	if (a->code == 0)
		a->data = (ksr_bytes){g->memory[piece], n};
	return true;
}

bool rtc_gather(const struct rtc_program *p, bool all, struct rtc_gathered *g)
{
	rtc_lowered_fn lowered;
	memset(g, 0, sizeof *g);
	if (!ask(p, LOG_PIECE, g))
		return false;
	if (!all)
		return true;
	for (unsigned i = 0; i < KSR_FORMS; i++)
		if (!ask(p, i, g))
			return false;
	*(void **)&lowered = p->library->real[RTC_LOWERED];
	if (p->nexpressions == 0 || lowered == NULL)
		return p->nexpressions == 0;
	g->lowered = calloc(p->nexpressions, sizeof *g->lowered);
	if (g->lowered == NULL)
		return false;
	for (unsigned i = 0; i < p->nexpressions; i++) {
		ksr_lowered *l = &g->lowered[i];
		l->expression = p->expressions[i];
		l->code = lowered(p->handle, l->expression, &l->name);
	}
	g->output.lowered = g->lowered;
	g->output.nlowered = p->nexpressions;
	return true;
}

void rtc_gathered_free(struct rtc_gathered *g)
{
	for (unsigned i = 0; i < PIECES; i++)
		free(g->memory[i]);
	free(g->lowered);
}
