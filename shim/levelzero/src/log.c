/*
 * log.c: build logs. A module that is restored has a log of its own, which lacks what the
 * compiler said when the module was built. Such a log is a driver's object as any other;
 * only what it says is ours.
 */
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct said {
	struct said *next;
	ze_module_build_log_handle_t log;
	size_t size; /* without the NUL */
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct said *first;
static atomic_int count; /* of the list, so that most calls take no lock */

char *lz_log_text(ze_module_build_log_handle_t log, size_t *size)
{
	const struct behind *b = lz_behind();
	size_t n = 0;
	*size = 0;
	if (log == NULL || b->zeModuleBuildLogGetString(log, &n, NULL) != ZE_RESULT_SUCCESS || n == 0)
		return NULL;
	char *text = malloc(n + 1);
	if (text == NULL)
		return NULL;
	if (b->zeModuleBuildLogGetString(log, &n, text) != ZE_RESULT_SUCCESS) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	*size = strlen(text);
	return text;
}

bool lz_log_says(ze_module_build_log_handle_t log, const void *text, size_t size)
{
	size_t n;
	char *own = lz_log_text(log, &n);
	bool same = n == size && (n == 0 || memcmp(own, text, n) == 0);
	free(own);
	if (same)
		return true;
	struct said *s = malloc(sizeof(*s) + size + 1);
	if (s == NULL)
		return false;
	s->log = log;
	s->size = size;
	if (size > 0)
		memcpy(s->text, text, size);
	s->text[size] = 0;
	pthread_mutex_lock(&lock);
	s->next = first;
	first = s;
	atomic_fetch_add(&count, 1);
	pthread_mutex_unlock(&lock);
	return true;
}

/* The place in the list that points to a log's; the caller holds the lock. */
static struct said **find(ze_module_build_log_handle_t log)
{
	struct said **at = &first;
	while (*at != NULL && (*at)->log != log)
		at = &(*at)->next;
	return at;
}

ze_result_t ks_zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	const struct behind *b = lz_behind();
	if (size != NULL && atomic_load(&count) > 0) {
		pthread_mutex_lock(&lock);
		struct said *s = *find(log);
		if (s != NULL) {
			if (text != NULL)
				memcpy(text, s->text, *size < s->size + 1 ? *size : s->size + 1);
			*size = s->size + 1;
		}
		pthread_mutex_unlock(&lock);
		if (s != NULL)
			return ZE_RESULT_SUCCESS;
	}
	return b->zeModuleBuildLogGetString == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeModuleBuildLogGetString(log, size, text);
}

void lz_log_forget(ze_module_build_log_handle_t log)
{
	if (atomic_load(&count) == 0)
		return;
	pthread_mutex_lock(&lock);
	struct said **at = find(log), *s = *at;
	if (s != NULL) {
		*at = s->next;
		atomic_fetch_sub(&count, 1);
		free(s);
	}
	pthread_mutex_unlock(&lock);
}

ze_result_t ks_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	const struct behind *b = lz_behind();
	lz_log_forget(log);
	return b->zeModuleBuildLogDestroy == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeModuleBuildLogDestroy(log);
}
