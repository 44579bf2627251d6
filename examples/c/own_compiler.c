/*
 * own_compiler.c: get-or-build for a compiler of one's own. What it makes is bytes;
 * here a list of numbers that takes a while to find.
 */
#include <inttypes.h>
#include <kernstash.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	uint32_t limit;
	int builds;
};

/* The compiler: all primes below the limit. */
static int build(void *user, kernstash_lookup *lookup)
{
	struct job *job = user;
	uint32_t *primes = malloc(job->limit * sizeof *primes);
	size_t count = 0;
	int status;

	if (primes == NULL)
		return 1; /* says nothing of the program: the next caller tries again */
	for (uint32_t n = 2; n < job->limit; n++) {
		size_t i = 0;
		while (i < count && primes[i] * primes[i] <= n && n % primes[i] != 0)
			i++;
		if (i == count || primes[i] * primes[i] > n)
			primes[count++] = n;
	}
	job->builds++;
	status = kernstash_lookup_set(lookup, primes, count * sizeof *primes);
	free(primes);
	return status;
}

int main(void)
{
	const kernstash_identity identity = {
		.size = sizeof identity, .api = "example", .name = "primes", .driver = "1.0",
	};
	kernstash_statistics statistics = {.size = sizeof statistics};
	kernstash_cache *cache;
	kernstash_device *device;
	struct job job = {.limit = 1000000};

	if (kernstash_open(NULL, &cache) != KERNSTASH_OK || kernstash_device_open(cache, &identity, &device) != KERNSTASH_OK) {
		fprintf(stderr, "no cache: %s\n", kernstash_detail());
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		kernstash_lookup *lookup;
		const void *primes;
		size_t size;
		if (kernstash_lookup_open(device, "primes", &lookup) != KERNSTASH_OK)
			return 1;
		kernstash_lookup_library(lookup, "own_compiler", "1.0");
		kernstash_lookup_int(lookup, job.limit);
		if (kernstash_lookup_get_or_build(lookup, build, &job) != KERNSTASH_OK ||
		    kernstash_lookup_binary(lookup, &primes, &size) != KERNSTASH_OK) {
			fprintf(stderr, "no primes: %s\n", kernstash_detail());
			return 1;
		}
		printf("%zu primes, the last is %" PRIu32 "\n", size / 4, ((const uint32_t *)primes)[size / 4 - 1]);
		kernstash_lookup_close(lookup);
	}
	kernstash_flush(cache, 10000);
	kernstash_stats(cache, &statistics);
	printf("built %d, from disk %" PRId64 ", from memory %" PRId64 "\n", job.builds, statistics.disk_hits,
		statistics.memory_hits);
	kernstash_device_close(device);
	kernstash_close(cache);
	return 0;
}
