/* table.c: records by handle, and the one lock over all of them. */
#include "shim.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void state_lock(void) { pthread_mutex_lock(&lock); }

void state_unlock(void) { pthread_mutex_unlock(&lock); }

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void state_wait(void)
{
	int before = library_uncancelled(); /* or the lock would never be free again */
	pthread_cond_wait(&changed, &lock);
	library_cancelled(before);
}

void state_wake(void) { pthread_cond_broadcast(&changed); }

static unsigned generation = 1;

unsigned state_generation(void) { return generation; }

static void in_child(void)
{
	generation++;
	pthread_cond_init(&changed, NULL); /* others may have waited, who would be waited for */
	pthread_mutex_unlock(&lock);
}

static void guard(void) { pthread_atfork(state_lock, state_unlock, in_child); }

void state_guard_fork(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, guard);
}

/* Handles are addresses: their low bits are equal. */
static size_t slot(const void *key, size_t size)
{
	return (size_t)(((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (size - 1);
}

struct entry *table_find(const struct table *t, const void *key)
{
	if (t->count == 0)
		return NULL;
	struct entry *e = t->buckets[slot(key, t->size)];
	while (e != NULL && e->key != key)
		e = e->link;
	return e;
}

static bool grow(struct table *t)
{
	size_t size = t->size == 0 ? 64 : t->size * 2;
	struct entry **buckets = calloc(size, sizeof(*buckets));
	if (buckets == NULL)
		return false;
	for (size_t i = 0; i < t->size; i++) {
		for (struct entry *e = t->buckets[i], *link; e != NULL; e = link) {
			struct entry **head = &buckets[slot(e->key, size)];
			link = e->link;
			e->link = *head;
			*head = e;
		}
	}
	free(t->buckets);
	t->buckets = buckets;
	t->size = size;
	return true;
}

bool table_insert(struct table *t, struct entry *e)
{
	/* A table that can not grow goes on with longer chains. */
	if (t->count >= t->size && !grow(t) && t->size == 0)
		return false;
	struct entry **head = &t->buckets[slot(e->key, t->size)];
	e->link = *head;
	*head = e;
	t->count++;
	return true;
}

void table_remove(struct table *t, struct entry *e)
{
	for (struct entry **at = &t->buckets[slot(e->key, t->size)]; *at != NULL; at = &(*at)->link) {
		if (*at == e) {
			*at = e->link;
			t->count--;
			return;
		}
	}
}
