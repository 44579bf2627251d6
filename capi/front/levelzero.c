#define _GNU_SOURCE
#include "levelzero_calls.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "enter.h"
#include "load.h"

/* Waits until Go has a reply. It waits here, since signals of the host are held back
 * there: for another thread, or another process, to have built the same. */
static uint32_t await(struct ksz_ticket_call *c)
{
	struct timespec pause = {0, 500000};

	while (c->pending) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec += pause.tv_nsec / 2;
		if (!ks_enter(ksz_go_wait, c))
			return KSZ_PASS;
	}
	return c->reply->action;
}

static uint32_t begin(const ksz_request *request, ksz_reply *reply)
{
	struct ksz_ticket_call c = {.request = request, .reply = reply};

	if (!reply)
		return KSZ_PASS;
	memset(reply, 0, sizeof *reply);
	if (!request || !ks_enter(ksz_go_begin, &c))
		return KSZ_PASS;
	return await(&c);
}

static uint32_t next(uint64_t ticket, const ksz_outcome *outcome, ksz_reply *reply)
{
	struct ksz_ticket_call c = {.outcome = outcome, .reply = reply, .ticket = ticket};

	if (!reply)
		return KSZ_PASS;
	memset(reply, 0, sizeof *reply);
	if (!outcome || !ks_enter(ksz_go_next, &c))
		return KSZ_PASS;
	return await(&c);
}

static void end(uint64_t ticket)
{
	struct ksz_number_call c = {ticket};

	ks_enter(ksz_go_end, &c);
}

static void passed(const char *reason)
{
	struct ksz_passed_call c = {reason};

	if (reason)
		ks_enter(ksz_go_passed, &c);
}

static const ksz_api api = {
	.size = sizeof api,
	.abi = KSZ_ABI,
	.begin = begin,
	.next = next,
	.end = end,
	.passed = passed,
};

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static struct ksz_open_call opening;

static void open_once(void)
{
	ks_enter(ksz_go_open, &opening);
}

__attribute__((visibility("default"))) const ksz_api *kernstash_levelzero_api(uint32_t abi)
{
	if (abi != KSZ_ABI || !ks_usable())
		return NULL;
	pthread_once(&opened, open_once);
	return opening.open ? &api : NULL;
}
