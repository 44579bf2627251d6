/* faults.c: what a host may run out of. */
#define _GNU_SOURCE
#include "parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int quick(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "quick", 5);
}

static int descriptors(void)
{
	DIR *all = opendir("/proc/self/fd");
	int n = 0;

	CHECK(all != NULL);
	while (readdir(all) != NULL)
		n++;
	closedir(all);
	return n;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* $TEST_BUILDS builds, faster than they are stored, of a host that may open 1024 files.
 * Prints by how many the descriptors grew, how often a file could not be opened, and how
 * long closing took. */
void many(void)
{
	struct rlimit files = {1024, 1024};
	CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0);
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	int builds = atoi(getenv("TEST_BUILDS"));
	int before = descriptors(), most = 0, refused = 0;

	for (int i = 0; i < builds; i++) {
		char name[32];
		snprintf(name, sizeof name, "program%d", i);
		kernstash_lookup *l = open_lookup(device, name);
		OK(kernstash_lookup_get_or_build(l, quick, NULL));
		kernstash_lookup_close(l);
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			refused++;
		else
			close(fd);
		if (i % 100 == 99) {
			int now = descriptors() - before;
			most = now > most ? now : most;
		}
	}
	kernstash_device_close(device);
	double begin = seconds();
	kernstash_close(cache);
	printf("descriptors %d refused %d close %.3f\n", most, refused, seconds() - begin);
}
