/*
 * asks.c: asks libkernstash.so, or the stub before it, for one artifact for each number
 * that it is given, and says how many were built.
 */
#include <kernstash.h>
#include <stdio.h>
#include <stdlib.h>

static int builds;

static int build(void *user, kernstash_lookup *lookup)
{
	builds++;
	return kernstash_lookup_set(lookup, user, sizeof(int));
}

int main(int argc, char **argv)
{
	const kernstash_identity identity = {.size = sizeof identity, .api = "test", .name = "asks", .driver = "1"};
	kernstash_cache *cache;
	kernstash_device *device;
	int status = kernstash_open(NULL, &cache);
	if (status != KERNSTASH_OK) {
		printf("status %d: %s\n", status, kernstash_detail());
		return 0;
	}
	if (kernstash_device_open(cache, &identity, &device) != KERNSTASH_OK)
		return 1;
	for (int i = 1; i < argc; i++) {
		int number = atoi(argv[i]);
		kernstash_lookup *lookup;
		if (kernstash_lookup_open(device, "asks", &lookup) != KERNSTASH_OK)
			return 1;
		kernstash_lookup_library(lookup, "asks", "1");
		kernstash_lookup_int(lookup, number);
		if (kernstash_lookup_get_or_build(lookup, build, &number) != KERNSTASH_OK)
			return 1;
		kernstash_lookup_close(lookup);
	}
	kernstash_device_close(device);
	kernstash_close(cache);
	printf("built %d\n", builds);
	return 0;
}
