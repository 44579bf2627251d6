/*
 * environment.c: the environment as it was when the drivers were loaded.
 */
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static char **_Atomic noted;

/* One piece of memory, the pointers before the text; it is never freed. */
static void copy(void)
{
	size_t n = 0, size = 0;
	if (environ == NULL)
		return;
	for (; environ[n] != NULL; n++)
		size += strlen(environ[n]) + 1;
	char **own = malloc((n + 1) * sizeof(*own) + size);
	if (own == NULL)
		return;
	char *text = (char *)(own + n + 1);
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(environ[i]) + 1;
		own[i] = memcpy(text, environ[i], length);
		text += length;
	}
	own[n] = NULL;
	atomic_store(&noted, own);
}

void lz_environment_note(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, copy);
}

const char *const *lz_environment_noted(void)
{
	return (const char *const *)atomic_load(&noted);
}
