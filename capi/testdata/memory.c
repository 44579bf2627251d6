/* memory.c: what the library adds to a process, through the stub: memory, address
 * space, threads, signals, and the time that loading takes. Prints name and value. */
#define _GNU_SOURCE
#include "kernstash_stub.h"

#include "check.h"

#include <time.h>

static long status(const char *field, int base)
{
	char line[256];
	long n = -1;
	FILE *f = fopen("/proc/self/status", "r");
	CHECK(f != NULL);
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			n = (long)strtoull(line + strlen(field), NULL, base);
	fclose(f);
	return n;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static int build(void *user, kernstash_lookup *l)
{
	static char binary[100000];
	(void)user;
	nap(3); /* no compiler is faster */
	return kernstash_lookup_set(l, binary, sizeof binary);
}

int main(void)
{
	long resident = status("VmRSS:", 10), space = status("VmSize:", 10);
	double start = now(), loaded;
	kernstash_cache *cache;
	kernstash_device *device;

	CHECK(*kernstash_version() != '\0');
	loaded = now();
	cache = open_cache();
	device = open_device(cache);
	printf("load-ms %.2f\n", loaded - start);
	printf("caught %lx\n", (unsigned long)status("SigCgt:", 16));
	/* Far more than is kept. */
	for (int i = 0; i < 100; i++) {
		kernstash_lookup *l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i));
		OK(kernstash_lookup_get_or_build(l, build, NULL));
		kernstash_lookup_close(l);
	}
	OK(kernstash_flush(cache, 20000));
	for (int i = 0; i < 100; i++) {
		kernstash_lookup *l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i));
		CHECK(kernstash_lookup_found(l));
		kernstash_lookup_close(l);
	}
	printf("busy-kib %ld\n", status("VmRSS:", 10) - resident);
	nap(1500);
	printf("rest-kib %ld\n", status("VmRSS:", 10) - resident);
	printf("space-mib %ld\n", (status("VmSize:", 10) - space) >> 10);
	printf("threads %ld\n", status("Threads:", 10));
	kernstash_device_close(device);
	OK(kernstash_close(cache));
	return 0;
}
