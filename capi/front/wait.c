#include "front.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads wait in C, since signals of the host are held back in Go. A futex and nothing around it:
 * who posts must not touch what the waiting thread owns once the thread may go on. */

static void sleep_at(_Atomic uint32_t *at, uint32_t seen)
{
	syscall(SYS_futex, (uint32_t *)at, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

/* Waking an address that nobody waits at any more does no harm. */
static void wake_at(uint32_t *at) { syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

void ks_post(ks_ticket *t, uint32_t action)
{
	uint32_t *at = (uint32_t *)&t->action;
	atomic_store_explicit(&t->action, action, memory_order_release);
	wake_at(at);
}

uint32_t ks_await(ks_ticket *t)
{
	uint32_t action;
	while ((action = atomic_load_explicit(&t->action, memory_order_acquire)) == ks_act_none)
		sleep_at(&t->action, ks_act_none);
	return action;
}

/* Events are counted up at words of the process's own, so that a thread may leave its wait by
 * longjmp. The count is not 0, which it is in forked children. */

uint32_t ks_event_now(uint32_t event)
{
	uint32_t none = 0;
	_Atomic uint32_t *at = ks_event(event);
	atomic_compare_exchange_strong(at, &none, 1);
	return atomic_load(at);
}

void ks_event_wait(uint32_t event, uint32_t seen) { sleep_at(ks_event(event), seen); }

void ks_wake(uint32_t event)
{
	_Atomic uint32_t *at = ks_event(event);
	if (atomic_fetch_add(at, 1) == UINT32_MAX)
		atomic_fetch_add(at, 1);
	wake_at((uint32_t *)at);
}
