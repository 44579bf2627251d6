#define _GNU_SOURCE
#include "rtc_calls.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "enter.h"
#include "load.h"

static uint32_t begin(const ksr_request *request, ksr_reply *reply)
{
	struct ksr_begin_call c = {.request = request, .reply = reply};
	struct timespec pause = {0, 100000};

	if (!reply)
		return KSR_PASS;
	memset(reply, 0, sizeof *reply);
	if (!request || !ks_enter(ksr_go_begin, &c))
		return KSR_PASS;
	/* It waits here, since signals of the host are held back in Go: for header files to
	 * be scanned, or for another thread, or another process, to have compiled the same.
	 * What comes of the last pause delays the host, so it is a small part of them all. */
	while (c.pending) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec += pause.tv_nsec / 24;
		if (!ks_enter(ksr_go_wait, &c))
			return KSR_PASS;
	}
	return reply->action;
}

static void done(uint64_t ticket, const ksr_outcome *outcome)
{
	struct ksr_done_call c = {ticket, outcome};

	if (outcome)
		ks_enter(ksr_go_done, &c);
}

static void end(uint64_t ticket)
{
	struct ksr_done_call c = {ticket, NULL};

	ks_enter(ksr_go_done, &c);
}

static void passed(uint32_t of, const char *reason)
{
	struct ksr_passed_call c = {reason, of};

	if (reason)
		ks_enter(ksr_go_passed, &c);
}

static const ksr_api api = {
	.size = sizeof api,
	.abi = KSR_ABI,
	.begin = begin,
	.done = done,
	.end = end,
	.passed = passed,
};

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static struct ksr_open_call opening;

static void open_once(void)
{
	ks_enter(ksr_go_open, &opening);
}

__attribute__((visibility("default"))) const ksr_api *kernstash_rtc_api(uint32_t abi)
{
	if (abi != KSR_ABI || !ks_usable())
		return NULL;
	pthread_once(&opened, open_once);
	return opening.open ? &api : NULL;
}
