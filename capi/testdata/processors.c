/*
 * processors.c: prints on which processors each thread of a process that has built programs
 * through the library may run, once for all that are alike. With "pinned" it was threads
 * that may run on one of them.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static int build(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "built", 5);
}

static void *use(void *pinned)
{
	cpu_set_t one;
	int processor = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET((size_t)processor, &one);
	if (pinned != NULL)
		CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	for (int i = 0; i < 20; i++) {
		char source[64];
		snprintf(source, sizeof source, "program %d of %p", i, (void *)&one);
		kernstash_lookup *l = open_lookup(device, source);
		OK(kernstash_lookup_get_or_build(l, build, NULL));
		kernstash_lookup_close(l);
	}
	kernstash_device_close(device);
	return cache;
}

int main(int n, char **arguments)
{
	char known[1024] = "";
	enum { USERS = 8 };
	pthread_t users[USERS];
	void *caches[USERS];
	/* Go makes threads while it is called by some that wait for the disk. */
	for (int i = 0; i < USERS; i++)
		CHECK(pthread_create(&users[i], NULL, use, n > 1 && strcmp(arguments[1], "pinned") == 0 ? users : NULL) == 0);
	for (int i = 0; i < USERS; i++)
		CHECK(pthread_join(users[i], &caches[i]) == 0);
	usleep(200000);
	DIR *all = opendir("/proc/self/task");
	int threads = 0;
	for (struct dirent *d; (d = readdir(all)) != NULL;) {
		char path[512], line[1024];
		snprintf(path, sizeof path, "/proc/self/task/%s/status", d->d_name);
		FILE *f = d->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f != NULL && fgets(line, sizeof line, f) != NULL) {
			if (strncmp(line, "Cpus_allowed_list:", 18) != 0)
				continue;
			threads++;
			if (strcmp(line, known) != 0)
				printf("%s", line);
			strcpy(known, line);
		}
		if (f != NULL)
			fclose(f);
	}
	closedir(all);
	if (threads < 3)
		printf("%d threads\n", threads);
	for (int i = 0; i < USERS; i++)
		OK(kernstash_close(caches[i]));
	return 0;
}
