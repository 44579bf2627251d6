/* stub.c: a program that has the stub compiled in. Prints what became of it. */
#define _GNU_SOURCE
#include "kernstash_stub.h"

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static int build(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "built", 5);
}

static void without(void)
{
	kernstash_cache *cache = (void *)8;
	kernstash_device *device = (void *)8;
	kernstash_lookup *l = (void *)8;
	const void *data;
	size_t size;

	/* Nothing crashes, and everything says so. */
	IS(KERNSTASH_UNAVAILABLE, kernstash_open(NULL, &cache));
	IS(KERNSTASH_UNAVAILABLE, kernstash_device_opencl(cache, NULL, NULL, &device));
	IS(KERNSTASH_UNAVAILABLE, kernstash_lookup_open(device, "p", &l));
	CHECK(cache == NULL && device == NULL && l == NULL);
	IS(KERNSTASH_UNAVAILABLE, kernstash_lookup_int(l, 1));
	CHECK(!kernstash_lookup_found(l));
	IS(KERNSTASH_UNAVAILABLE, kernstash_lookup_get_or_build(l, build, NULL));
	IS(KERNSTASH_UNAVAILABLE, kernstash_lookup_binary(l, &data, &size));
	CHECK(*kernstash_device_directory(device) == '\0');
	CHECK(*kernstash_version() == '\0' && *kernstash_strerror(KERNSTASH_UNAVAILABLE) != '\0');
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
	printf("unavailable: %s\n", kernstash_detail());
}

static void with(kernstash_cache *cache)
{
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");

	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_get_or_build(l, build, NULL));
	OK(kernstash_flush(cache, 10000));
	kernstash_lookup_close(l);
	OK(kernstash_close(cache));
	kernstash_device_close(device);

	cache = open_cache();
	device = open_device(cache);
	l = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(l));
	check_binary(l, "built");
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
	printf("built then found\n");
}

int main(int argc, char **argv)
{
	kernstash_cache *cache;

	(void)argv;
	if (argc > 1) {
		int status;
		pid_t child = fork();
		if (child != 0)
			return waitpid(child, &status, 0) != child || status != 0;
	}
	if (kernstash_open(NULL, &cache) == KERNSTASH_OK)
		with(cache);
	else
		without();
	return 0;
}
