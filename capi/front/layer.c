#define _GNU_SOURCE
#include "layer_calls.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "enter.h"
#include "load.h"

/* Waits until Go has a reply. It waits here, since signals of the host are held
 * back there: for another thread, or another process, to have built the same. */
static uint32_t await(struct ksl_ticket_call *c)
{
	struct timespec pause = {0, 500000};

	while (c->pending) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec += pause.tv_nsec / 2;
		if (!ks_enter(ksl_go_wait, c))
			return KSL_PASS;
	}
	return c->reply->action;
}

static uint32_t begin(const ksl_request *request, ksl_reply *reply)
{
	struct ksl_ticket_call c = {.request = request, .reply = reply};

	if (!reply)
		return KSL_PASS;
	memset(reply, 0, sizeof *reply);
	if (!request || !ks_usable())
		return KSL_PASS;
	c.thread = syscall(SYS_gettid);
	if (!ks_enter(ksl_go_begin, &c))
		return KSL_PASS;
	return await(&c);
}

static uint32_t next(uint64_t ticket, uint32_t noutcomes, const ksl_outcome *outcomes, ksl_reply *reply)
{
	struct ksl_ticket_call c = {
		.outcomes = outcomes, .reply = reply, .ticket = ticket, .noutcomes = noutcomes,
	};

	if (!reply)
		return KSL_PASS;
	memset(reply, 0, sizeof *reply);
	if (!ks_enter(ksl_go_next, &c))
		return KSL_PASS;
	return await(&c);
}

static void end(uint64_t ticket)
{
	struct ksl_number_call c = {ticket};
	ks_enter(ksl_go_end, &c);
}

static void launched(uint64_t program, const char *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *global, const size_t *local)
{
	struct ksl_launch_call c = {program, kernel, offset, global, local, dimensions};

	if (program != 0 && kernel && global && dimensions >= 1 && dimensions <= 3)
		ks_enter(ksl_go_launched, &c);
}

static uint32_t answer(uint64_t program, uint32_t device, void *to, size_t size)
{
	struct ksl_answer_call c = {.program = program, .to = to, .size = size, .device = device};

	return program != 0 && to && ks_enter(ksl_go_answer, &c) && c.written;
}

static void released(uint64_t program)
{
	struct ksl_number_call c = {program};

	if (program != 0)
		ks_enter(ksl_go_released, &c);
}

static void passed(const char *reason)
{
	struct ksl_passed_call c = {reason};

	if (reason)
		ks_enter(ksl_go_passed, &c);
}

static void compiles(void)
{
	struct ksl_number_call c = {0};
	ks_enter(ksl_go_compiles, &c);
}

static void compiled_late(uint64_t nanoseconds, uint64_t saved)
{
	struct ksl_late_call c = {nanoseconds, saved};
	ks_enter(ksl_go_compiled_late, &c);
}

static const ksl_api api = {
	.size = sizeof api,
	.abi = KSL_ABI,
	.begin = begin,
	.next = next,
	.end = end,
	.launched = launched,
	.answer = answer,
	.released = released,
	.passed = passed,
	.compiles = compiles,
	.compiled_late = compiled_late,
};

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static struct ksl_open_call opening;

static void open_once(void)
{
	ks_enter(ksl_go_open, &opening);
}

__attribute__((visibility("default"))) const ksl_api *kernstash_layer_api(uint32_t abi)
{
	if (abi != KSL_ABI || !ks_usable())
		return NULL;
	pthread_once(&opened, open_once);
	return opening.open ? &api : NULL;
}
