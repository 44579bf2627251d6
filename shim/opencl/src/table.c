/* table.c: records by handle, and the one lock over all of them. */
#include "shim.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void state_lock(void) { pthread_mutex_lock(&lock); }

void state_unlock(void) { pthread_mutex_unlock(&lock); }

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static unsigned generation = 1; /* of forked children */

bool state_claimed(unsigned by) { return by == generation; }

void state_claim(atomic_uint *by)
{
	int before = library_uncancelled(); /* or the lock would never be free again */
	state_lock();
	while (state_claimed(*by))
		pthread_cond_wait(&changed, &lock);
	*by = generation;
	state_unlock();
	library_cancelled(before);
}

void state_release(atomic_uint *by)
{
	state_lock();
	*by = 0;
	pthread_cond_broadcast(&changed);
	state_unlock();
}

static void in_child(void)
{
	generation++;
	pthread_cond_init(&changed, NULL); /* others may have waited, who would be waited for */
	pthread_mutex_unlock(&lock);
}

void state_guard_fork(void) { pthread_atfork(state_lock, state_unlock, in_child); }

/* Handles are addresses: their low bits are equal. */
static struct entry **head_of(struct table *t, const void *key)
{
	return &t->heads[((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % TABLE_HEADS];
}

struct entry *table_find(struct table *t, const void *key)
{
	struct entry *e = *head_of(t, key);
	while (e != NULL && e->key != key)
		e = e->link;
	return e;
}

struct entry *table_get(struct table *t, const void *key)
{
	state_lock();
	struct entry *e = table_find(t, key);
	if (e != NULL)
		e->pins++;
	state_unlock();
	return e;
}

void table_hold(struct table *t, const void *key)
{
	state_lock();
	struct entry *e = table_find(t, key);
	if (e != NULL)
		e->held++;
	state_unlock();
}

struct entry *table_insert(struct table *t, struct entry *e)
{
	struct entry *stale = table_find(t, e->key), **head = head_of(t, e->key);
	if (stale != NULL)
		table_remove(t, stale);
	e->link = *head;
	*head = e;
	return stale;
}

void table_remove(struct table *t, struct entry *e)
{
	struct entry **at = head_of(t, e->key);
	while (*at != e)
		at = &(*at)->link;
	*at = e->link;
}
