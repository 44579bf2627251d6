#include "front.h"

#include <sys/auxv.h>

int kernstash_open(const kernstash_options *options, kernstash_cache **cache)
{
	kernstash_options o = {.size = sizeof o};
	ks_cache_call c = {.options = &o};

	if (cache == NULL)
		return ks_fail(KERNSTASH_INVALID, "open: cache is NULL");
	*cache = NULL;
	if (options != NULL) {
		if (options->size < offsetof(kernstash_options, reserved) || options->size > 4096)
			return ks_fail(KERNSTASH_INVALID, "open: %zu is not the size of kernstash_options", options->size);
		memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
	}
	if ((o.flags & ~(uint32_t)(KERNSTASH_NO_DISK | KERNSTASH_NO_MEMORY_TIER)) != 0 || o.reserved != 0)
		return ks_fail(KERNSTASH_INVALID, "open: unknown flags");
	if (getauxval(AT_SECURE) != 0)
		return ks_fail(KERNSTASH_UNAVAILABLE, "open: the program has rights beyond its user's");
	c.cache = calloc(1, sizeof *c.cache);
	if (c.cache == NULL)
		return ks_fail(KERNSTASH_NO_MEMORY, "open");
	int status = ks_ask(ks_go_open, &c.call);
	if (status != KERNSTASH_OK) {
		free(c.cache);
		return status;
	}
	atomic_init(&c.cache->uses, 1);
	*cache = c.cache;
	return KERNSTASH_OK;
}

void ks_cache_unuse(kernstash_cache *cache)
{
	ks_cache_call c = {.cache = cache};

	if (atomic_fetch_sub_explicit(&cache->uses, 1, memory_order_acq_rel) != 1)
		return;
	(void)ks_enter(ks_go_release, &c);
	free(cache);
}

/* Calls what answers later, and waits for it here. */
static int wait_for(enum ks_entry entry, ks_cache_call *c)
{
	ks_ticket t = {0};

	c->ticket = &t;
	int status = ks_ask(entry, &c->call);
	if (status != KERNSTASH_OK)
		return status;
	ks_await(&t);
	return ks_said(&c->call);
}

int kernstash_close(kernstash_cache *cache)
{
	ks_cache_call c = {.cache = cache};

	if (cache == NULL)
		return KERNSTASH_OK;
	if (ks_in_build())
		return ks_fail(KERNSTASH_INVALID, "close: within a build, which it would wait for");
	int status = wait_for(ks_go_close, &c);
	ks_cache_unuse(cache);
	return status;
}

int kernstash_flush(kernstash_cache *cache, uint32_t milliseconds)
{
	ks_cache_call c = {.cache = cache, .milliseconds = milliseconds};

	if (cache == NULL)
		return ks_fail(KERNSTASH_INVALID, "flush: cache is NULL");
	return wait_for(ks_go_flush, &c);
}

int kernstash_stats(kernstash_cache *cache, kernstash_statistics *statistics)
{
	kernstash_statistics all = {.size = sizeof all};
	ks_cache_call c = {.cache = cache, .statistics = &all};

	if (cache == NULL || statistics == NULL)
		return ks_fail(KERNSTASH_INVALID, "statistics: NULL");
	if (statistics->size < sizeof(size_t) + sizeof(int64_t) || statistics->size > 4096)
		return ks_fail(KERNSTASH_INVALID, "statistics: %zu is not the size of kernstash_statistics", statistics->size);
	int status = ks_ask(ks_go_stats, &c.call);
	if (status != KERNSTASH_OK)
		return status;
	/* What a newer caller knows beyond this library is zero. */
	all.size = statistics->size;
	memset(statistics, 0, all.size);
	memcpy(statistics, &all, all.size < sizeof all ? all.size : sizeof all);
	return KERNSTASH_OK;
}

int kernstash_counter(kernstash_cache *cache, const char *name, int64_t *value)
{
	ks_cache_call c = {.cache = cache, .name = name};

	if (cache == NULL || name == NULL || value == NULL)
		return ks_fail(KERNSTASH_INVALID, "counter: NULL");
	int status = ks_ask(ks_go_counter, &c.call);
	if (status == KERNSTASH_OK)
		*value = c.value;
	return status;
}
