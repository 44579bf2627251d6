/* programs.c: what the application made its programs of. */
#include "rtc.h"

enum { BUCKETS = 256 };

static struct rtc_program *table[BUCKETS];

/* The place in the table that points to a program's record; the caller holds the lock. */
static struct rtc_program **find(const void *handle)
{
	uintptr_t h = (uintptr_t)handle;
	struct rtc_program **at = &table[(h >> 4 ^ h >> 12) % BUCKETS];
	while (*at != NULL && (*at)->handle != handle)
		at = &(*at)->link;
	return at;
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
	for (unsigned i = 0; i < p->ninputs; i++) {
		free(p->inputs[i].name);
		free(p->inputs[i].data);
	}
	free(p->inputs);
	free(p->answers);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void rtc_program_add(struct rtc_library *l, void *handle, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes)
{
	struct rtc_program *p = calloc(1, sizeof *p);
	if (p == NULL)
		return;
	unsigned n = nheaders > 0 ? (unsigned)nheaders : 0;
	*p = (struct rtc_program){
		.nheaders = n,
		.source = strdup(source), .name = name == NULL ? NULL : strdup(name),
		.headers = rtc_copy_list(headers, n), .includes = rtc_copy_list(includes, n),
	};
	if (p->source == NULL || p->headers == NULL || p->includes == NULL || (p->name == NULL) != (name == NULL)) {
		release(p);
		return;
	}
	if (name != NULL && *name == 0)
		p->unknown = "a program with an empty name";
	rtc_program_insert(l, handle, p);
}

void rtc_program_insert(struct rtc_library *l, void *handle, struct rtc_program *p)
{
	p->handle = handle;
	p->library = l;
	p->pins = 1;
	pthread_mutex_init(&p->lock, NULL);
	if (l->replaced)
		p->unknown = "another library in the place of one that was closed";
	struct rtc_program *old = rtc_program_take(handle); /* of a program that was destroyed behind our back */
	if (old != NULL)
		rtc_program_put(old);
	rtc_program_back(p);
}

struct rtc_program *rtc_program_enter(void *handle)
{
	pthread_mutex_lock(&rtc_lock);
	struct rtc_program *p = *find(handle);
	if (p != NULL)
		p->pins++;
	pthread_mutex_unlock(&rtc_lock);
	if (p == NULL)
		return NULL;
	int before = library_uncancelled();
	pthread_mutex_lock(&p->lock);
	p->cancel = before;
	return p;
}

void rtc_program_leave(struct rtc_program *p)
{
	int before = p->cancel;
	pthread_mutex_unlock(&p->lock);
	rtc_program_put(p);
	library_cancelled(before);
}

void rtc_program_put(struct rtc_program *p)
{
	pthread_mutex_lock(&rtc_lock);
	bool last = --p->pins == 0;
	pthread_mutex_unlock(&rtc_lock);
	if (last)
		release(p);
}

struct rtc_program *rtc_program_take(void *handle)
{
	pthread_mutex_lock(&rtc_lock);
	struct rtc_program **at = find(handle), *p = *at; /* its pin is the caller's now */
	if (p != NULL)
		*at = p->link;
	pthread_mutex_unlock(&rtc_lock);
	return p;
}

void rtc_program_back(struct rtc_program *p)
{
	pthread_mutex_lock(&rtc_lock);
	struct rtc_program **at = find(p->handle);
	p->link = *at;
	*at = p;
	pthread_mutex_unlock(&rtc_lock);
}
