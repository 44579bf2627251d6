/* limits.c: a program that is linked with the library, under limits. Prints what
 * became of it; with an argument it crashes then. */
#include "check.h"

static int build(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "built", 5);
}

int main(int argc, char **argv)
{
	kernstash_cache *cache = (void *)8;
	kernstash_device *device;
	kernstash_lookup *l;

	(void)argv;
	CHECK(*kernstash_version() != '\0');
	if (kernstash_open(NULL, &cache) == KERNSTASH_OK) {
		device = open_device(cache);
		l = open_lookup(device, "program");
		OK(kernstash_lookup_get_or_build(l, build, NULL));
		check_binary(l, "built");
		kernstash_lookup_close(l);
		kernstash_device_close(device);
		OK(kernstash_close(cache));
		printf("built\n");
	} else {
		CHECK(cache == NULL);
		IS(KERNSTASH_UNAVAILABLE, kernstash_open(NULL, &cache));
		printf("unavailable: %s\n", kernstash_detail());
		IS(KERNSTASH_INVALID, kernstash_device_open(cache, NULL, &device));
	}
	fflush(stdout);
	if (argc > 1)
		*(volatile int *)(size_t)(argc - argc) = 1;
	return 0;
}
