/*
 * programs.c: what the application made its programs of. One lock guards the table; no
 * compiler and no library is called under it.
 */
#include "rtc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

static struct rtc_program *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void in_child(void)
{
	pthread_cond_init(&changed, NULL); /* others may have waited */
	pthread_mutex_unlock(&lock);
}

static void guard(void) { pthread_atfork(before_fork, after_fork, in_child); }

static void guard_fork(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, guard);
}

static struct rtc_program **bucket(const void *handle)
{
	uintptr_t h = (uintptr_t)handle;
	return &table[(h >> 4 ^ h >> 12) % BUCKETS];
}

char **rtc_copy_list(const char *const *list, unsigned n)
{
	char **own = calloc(n + 1, sizeof *own);
	for (unsigned i = 0; own != NULL && i < n; i++)
		if (list[i] == NULL || (own[i] = strdup(list[i])) == NULL) {
			rtc_free_list(own, i);
			return NULL;
		}
	return own;
}

void rtc_free_list(char **list, unsigned n)
{
	for (unsigned i = 0; list != NULL && i < n; i++)
		free(list[i]);
	free(list);
}

static void release(struct rtc_program *p)
{
	free(p->source);
	free(p->name);
	rtc_free_list(p->headers, p->nheaders);
	rtc_free_list(p->includes, p->nheaders);
	rtc_free_list(p->expressions, p->nexpressions);
	rtc_free_list(p->options, p->noptions);
	free(p->answers);
	free(p);
}

void rtc_program_add(struct rtc_library *l, void *handle, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes)
{
	struct rtc_program *p = calloc(1, sizeof *p), *old;
	if (p == NULL)
		return;
	guard_fork();
	p->handle = handle;
	p->library = l;
	p->pins = 1;
	p->nheaders = nheaders > 0 ? (unsigned)nheaders : 0;
	p->source = strdup(source);
	p->name = name == NULL ? NULL : strdup(name);
	p->headers = rtc_copy_list(headers, p->nheaders);
	p->includes = rtc_copy_list(includes, p->nheaders);
	if (p->source == NULL || p->headers == NULL || p->includes == NULL || (p->name == NULL) != (name == NULL)) {
		if (p->headers == NULL || p->includes == NULL) {
			rtc_free_list(p->headers, p->nheaders);
			rtc_free_list(p->includes, p->nheaders);
			p->headers = p->includes = NULL;
		}
		release(p);
		return;
	}
	if (name != NULL && *name == 0)
		p->unknown = "a program with an empty name";
	if (l->replaced)
		p->unknown = "another library in the place of one that was closed";
	old = rtc_program_take(handle); /* of a program that was destroyed behind our back */
	if (old != NULL)
		rtc_program_put(old);
	pthread_mutex_lock(&lock);
	struct rtc_program **at = bucket(handle);
	p->link = *at;
	*at = p;
	pthread_mutex_unlock(&lock);
}

struct rtc_program *rtc_program_get(void *handle)
{
	struct rtc_program *p;
	pthread_mutex_lock(&lock);
	for (p = *bucket(handle); p != NULL && p->handle != handle; p = p->link)
		;
	if (p != NULL)
		p->pins++;
	pthread_mutex_unlock(&lock);
	return p;
}

void rtc_program_put(struct rtc_program *p)
{
	pthread_mutex_lock(&lock);
	bool last = --p->pins == 0;
	pthread_mutex_unlock(&lock);
	if (last)
		release(p);
}

struct rtc_program *rtc_program_take(void *handle)
{
	struct rtc_program **at, *p;
	pthread_mutex_lock(&lock);
	for (at = bucket(handle); *at != NULL && (*at)->handle != handle; at = &(*at)->link)
		;
	p = *at; /* its pin is the caller's now */
	if (p != NULL)
		*at = p->link;
	pthread_mutex_unlock(&lock);
	return p;
}

void rtc_program_back(struct rtc_program *p)
{
	struct rtc_program **at = bucket(p->handle);
	pthread_mutex_lock(&lock);
	p->link = *at;
	*at = p;
	pthread_mutex_unlock(&lock);
}

void rtc_program_lock(struct rtc_program *p)
{
	int before = library_uncancelled();
	pthread_mutex_lock(&lock);
	while (p->busy)
		pthread_cond_wait(&changed, &lock);
	p->busy = true;
	p->cancel = before;
	pthread_mutex_unlock(&lock);
}

void rtc_program_unlock(struct rtc_program *p)
{
	pthread_mutex_lock(&lock);
	int before = p->cancel;
	p->busy = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	library_cancelled(before);
}
