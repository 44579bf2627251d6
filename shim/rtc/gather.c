/*
 * gather.c: what a compile made.
 */
#include "rtc.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 30 }; /* bytes of a piece */

/* Asks the real library for a piece. false: no memory, or its size makes no sense. */
static bool ask(const struct rtc_program *p, unsigned piece, struct message *m)
{
	bool log = piece == LOG_PIECE;
	ksf_field f = {.tag = log ? KSF_LOG : KSF_BINARY, .detail = log ? 0 : piece};
	rtc_size_fn size;
	rtc_get_fn get;
	size_t n = 0;
	*(void **)&size = p->library->real[RTC_SIZE + piece];
	*(void **)&get = p->library->real[RTC_GET + piece];
	if (size == NULL || get == NULL)
		return true;
	int code = size(p->handle, &n);
	if (code == 0 && n > 0) {
		void *data = n > LARGEST ? NULL : message_own(m, malloc(n));
		if (data == NULL)
			return false;
		code = get(p->handle, data);
		if (code == 0) {
			f.data = data;
			f.size = n;
		}
	}
	f.number = (uint32_t)code;
	message_add(m, f);
	return true;
}

bool rtc_gather(const struct rtc_program *p, bool all, struct message *m)
{
	rtc_lowered_fn lowered;
	if (!ask(p, LOG_PIECE, m))
		return false;
	if (!all)
		return true;
	for (unsigned i = 0; i < RTC_FORMS; i++)
		if (!ask(p, i, m))
			return false;
	*(void **)&lowered = p->library->real[RTC_LOWERED];
	if (p->nexpressions > 0 && lowered == NULL)
		return false;
	for (unsigned i = 0; i < p->nexpressions; i++) {
		const char *name = NULL;
		int code = lowered(p->handle, p->expressions[i], &name);
		message_text(m, KSF_EXPRESSION, p->expressions[i]);
		message_add(m, (ksf_field){.tag = KSF_LOWERED, .number = (uint32_t)code, .data = name, .size = name == NULL ? 0 : strlen(name)});
	}
	return !m->failed;
}
