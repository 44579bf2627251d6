#define _GNU_SOURCE
#include "calls.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A futex and nothing around it: who posts must not touch the ticket once the
 * action is there, since its owner may be through with it. Waking an address that
 * nobody waits at any more does no harm. */

void ks_post(ks_ticket *t, uint32_t action)
{
	uint32_t *at = (uint32_t *)&t->action;
	atomic_store_explicit(&t->action, action, memory_order_release);
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

uint32_t ks_await(ks_ticket *t)
{
	uint32_t action;
	while ((action = atomic_load_explicit(&t->action, memory_order_acquire)) == ks_act_none)
		syscall(SYS_futex, (uint32_t *)&t->action, FUTEX_WAIT_PRIVATE, ks_act_none, NULL, NULL, 0);
	return action;
}
