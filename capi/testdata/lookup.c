/* lookup.c: lookups that find, set and populate, as the tests of clBLAS's have it. */
#define _GNU_SOURCE
#include "parts.h"

/* Another value, kind or order of a variant is another entry; so is the context,
 * the program, the material and everything else of the key. */
enum { variant_count = 30 };

static kernstash_lookup *variant(kernstash_device *device, int n)
{
	static const char nul[] = "a\0b";
	kernstash_lookup *l;

	OK(kernstash_lookup_open(device, n == 1 ? "other program" : "program", &l));
	switch (n) {
	case 2: OK(kernstash_lookup_library(l, "lib", "2")); break;
	case 3: OK(kernstash_lookup_library(l, "library", "1")); break;
	case 4: OK(kernstash_lookup_source(l, "lib1", 4)); break;
	case 5: OK(kernstash_lookup_source(l, "lib", 3)); OK(kernstash_lookup_source(l, "1", 1)); break;
	case 6: OK(kernstash_lookup_source(l, "1", 1)); OK(kernstash_lookup_source(l, "lib", 3)); break;
	case 7: OK(kernstash_lookup_library(l, "lib", "1")); OK(kernstash_lookup_source(l, "x", 1)); break;
	case 8: OK(kernstash_lookup_source(l, "x", 1)); OK(kernstash_lookup_library(l, "lib", "1")); break;
	default: OK(kernstash_lookup_library(l, "lib", "1"));
	}
	switch (n) {
	case 9: OK(kernstash_lookup_context(l, "", 0)); break;
	case 10: OK(kernstash_lookup_context(l, "context", 7)); break;
	case 11: OK(kernstash_lookup_int(l, 0)); break;
	case 12: OK(kernstash_lookup_int(l, 1)); break;
	case 13: OK(kernstash_lookup_int(l, -1)); break;
	case 14: OK(kernstash_lookup_double(l, 0.0)); break;
	case 15: OK(kernstash_lookup_double(l, -0.0)); break;
	case 16: OK(kernstash_lookup_double(l, 1)); break;
	case 17: OK(kernstash_lookup_string(l, "")); break;
	case 18: OK(kernstash_lookup_string(l, "1")); break;
	case 19: OK(kernstash_lookup_bytes(l, NULL, 0)); break;
	case 20: OK(kernstash_lookup_bytes(l, "1", 1)); break;
	case 21: OK(kernstash_lookup_bytes(l, nul, 3)); break;
	case 22: OK(kernstash_lookup_bytes(l, "a", 1)); break;
	case 23: OK(kernstash_lookup_options(l, "")); break;
	case 24: OK(kernstash_lookup_options(l, "1")); break;
	case 25: OK(kernstash_lookup_int(l, 1)); OK(kernstash_lookup_int(l, 2)); break;
	case 26: OK(kernstash_lookup_int(l, 2)); OK(kernstash_lookup_int(l, 1)); break;
	case 27: OK(kernstash_lookup_int(l, 1)); OK(kernstash_lookup_string(l, "2")); break;
	case 28: OK(kernstash_lookup_options(l, "-a -b")); break;
	case 29: OK(kernstash_lookup_options(l, "-a")); OK(kernstash_lookup_options(l, "-b")); break;
	}
	return l;
}

void variants(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	char text[32];

	for (int n = 0; n < variant_count; n++) {
		kernstash_lookup *l = variant(device, n);
		snprintf(text, sizeof text, "binary %d", n);
		populate(l, text); /* checks that it is not there yet */
		kernstash_lookup_close(l);
	}
	for (int n = 0; n < variant_count; n++) {
		kernstash_lookup *l = variant(device, n);
		CHECK(kernstash_lookup_found(l));
		snprintf(text, sizeof text, "binary %d", n);
		check_binary(l, text);
		kernstash_lookup_close(l);
	}
	CHECK(counter(cache, "disk.puts") == variant_count);
	CHECK(counter(cache, "disk.hits") == variant_count);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

void populated(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");

	populate(l, "first");
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* In another process. */
void found(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");
	kernstash_artifact a = {.size = sizeof a};

	CHECK(kernstash_lookup_found(l));
	CHECK(kernstash_lookup_found(l)); /* again */
	check_binary(l, "first");
	OK(kernstash_lookup_artifact(l, &a));
	CHECK(a.form == KERNSTASH_FINAL && a.origin == KERNSTASH_FROM_DISK && a.cost > 0 && a.launch_count == 0 && a.log == NULL);
	OK(kernstash_lookup_populate(l)); /* changes nothing */
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Nothing is found, and that is all that is wrong. */
void absent(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");
	const void *data;
	size_t size;

	CHECK(!kernstash_lookup_found(l));
	CHECK(*kernstash_detail() != '\0');
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_binary(l, &data, &size));
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Two that missed both populate: the first stays, and both succeed. */
void twice(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *a = open_lookup(device, "program"), *b = open_lookup(device, "program");

	CHECK(!kernstash_lookup_found(a) && !kernstash_lookup_found(b));
	OK(kernstash_lookup_set(a, "first", 5));
	OK(kernstash_lookup_set(b, "second", 6));
	OK(kernstash_lookup_populate(a));
	OK(kernstash_lookup_populate(a));
	OK(kernstash_lookup_populate(b));
	check_binary(b, "second"); /* its own */
	CHECK(counter(cache, "disk.puts") == 1 && counter(cache, "disk.puts.existing") == 2);
	kernstash_lookup_close(a);
	a = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(a));
	check_binary(a, "first");
	kernstash_lookup_close(a);
	kernstash_lookup_close(b);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* What is better replaces what is there. */
void bettered(void)
{
	static const char *const sizes[] = {"64-1-1", "32-1-1"};
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");
	const kernstash_artifact steps[] = {
		{.size = sizeof *steps, .data = "ptx", .data_size = 3, .form = KERNSTASH_INTERMEDIATE, .log = "a warning"},
		{.size = sizeof *steps, .data = "none", .data_size = 4, .form = KERNSTASH_DEFERRED},
		{.size = sizeof *steps, .data = "one", .data_size = 3, .form = KERNSTASH_DEFERRED, .launches = sizes, .launch_count = 1},
		{.size = sizeof *steps, .data = "both", .data_size = 4, .form = KERNSTASH_DEFERRED, .launches = sizes, .launch_count = 2},
		{.size = sizeof *steps, .data = "code", .data_size = 4, .form = KERNSTASH_FINAL, .log = "", .cost = 12345},
	};
	enum { count = sizeof steps / sizeof *steps };
	const void *first, *now;
	size_t size;
	kernstash_artifact a = {.size = sizeof a};

	for (int i = 0; i < count; i++) {
		OK(kernstash_lookup_set_artifact(l, &steps[i]));
		OK(kernstash_lookup_populate(l));
		CHECK(counter(cache, "disk.puts.bettered") == i);
		if (i == 0)
			OK(kernstash_lookup_binary(l, &first, &size));
		kernstash_lookup *fresh = open_lookup(device, "program");
		CHECK(kernstash_lookup_found(fresh));
		OK(kernstash_lookup_artifact(fresh, &a));
		CHECK(a.data_size == steps[i].data_size && memcmp(a.data, steps[i].data, a.data_size) == 0);
		CHECK(a.form == steps[i].form && a.launch_count == steps[i].launch_count);
		CHECK((a.log != NULL ? strlen(a.log) : 0) == (steps[i].log != NULL ? strlen(steps[i].log) : 0));
		kernstash_lookup_close(fresh);
	}
	for (int i = 0; i < count - 1; i++) { /* and what is worse does not */
		OK(kernstash_lookup_set_artifact(l, &steps[i]));
		OK(kernstash_lookup_populate(l));
	}
	CHECK(counter(cache, "disk.puts.bettered") == count - 1 && counter(cache, "disk.puts.existing") == count - 1);
	CHECK(memcmp(first, "ptx", 3) == 0); /* lives until close */
	OK(kernstash_lookup_binary(l, &now, &size));
	CHECK(now != first);
	kernstash_lookup *fresh = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(fresh));
	OK(kernstash_lookup_artifact(fresh, &a));
	CHECK(a.cost == 12345 && memcmp(a.data, "code", 4) == 0);
	kernstash_lookup_close(fresh);
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* The driver refuses what was found. */
void refused(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");

	populate(l, "bad");
	kernstash_lookup_close(l);
	l = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(l));
	OK(kernstash_lookup_refused(l));
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_refused(l));
	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_set(l, "good", 4));
	OK(kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
	l = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(l));
	check_binary(l, "good");
	CHECK(counter(cache, "disk.corrupt") == 1);
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Drivers of two versions have directories of their own. */
void drivers(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *a = open_device_with(cache, "1.0"), *b = open_device_with(cache, "1.1"), *same = open_device_with(cache, "1.0");
	kernstash_lookup *l = open_lookup(a, "program");

	CHECK(strlen(kernstash_device_directory(a)) == 32);
	CHECK(strcmp(kernstash_device_directory(a), kernstash_device_directory(b)) != 0);
	CHECK(strcmp(kernstash_device_directory(a), kernstash_device_directory(same)) == 0);
	populate(l, "of 1.0");
	kernstash_lookup_close(l);
	l = open_lookup(b, "program");
	populate(l, "of 1.1");
	kernstash_lookup_close(l);
	l = open_lookup(same, "program");
	CHECK(kernstash_lookup_found(l));
	check_binary(l, "of 1.0");
	printf("%s\n%s\n", kernstash_device_directory(a), kernstash_device_directory(b));
	/* Closed in the wrong order. */
	OK(kernstash_close(cache));
	kernstash_device_close(a);
	kernstash_device_close(b);
	kernstash_device_close(same);
	check_binary(l, "of 1.0");
	kernstash_lookup_close(l);
}

/* A cache whose directory cannot be made is off; another one is not. */
void uncreatable(void)
{
	kernstash_options o = {.size = sizeof o, .directory = "/proc/no such directory"};
	kernstash_cache *off, *on;
	kernstash_device *a, *b;
	kernstash_lookup *l;
	char private_directory[512];

	snprintf(private_directory, sizeof private_directory, "%s/private", getenv("TEST_DIR"));
	OK(kernstash_open(&o, &off));
	a = open_device(off);
	l = open_lookup(a, "program");
	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_set(l, "x", 1));
	IS(KERNSTASH_NOT_STORED, kernstash_lookup_populate(l));
	check_binary(l, "x");
	kernstash_lookup_close(l);

	o.directory = private_directory;
	o.max_size = 1 << 20;
	OK(kernstash_open(&o, &on));
	b = open_device(on);
	l = open_lookup(b, "program");
	populate(l, "y");
	kernstash_lookup_close(l);
	l = open_lookup(b, "program");
	CHECK(kernstash_lookup_found(l));
	kernstash_lookup_close(l);
	/* Larger than the limit. */
	l = open_lookup(b, "large");
	char *large = calloc(1, 2 << 20);
	OK(kernstash_lookup_set(l, large, 2 << 20));
	IS(KERNSTASH_NOT_STORED, kernstash_lookup_populate(l));
	free(large);
	kernstash_lookup_close(l);
	kernstash_device_close(a);
	kernstash_device_close(b);
	OK(kernstash_close(off));
	OK(kernstash_close(on));
}

/* KERNSTASH_DIR is where all share a cache. A private directory stays where it is, and
 * its limit is none of the other's. */
void private_directory(void)
{
	char shared[512], own[512];
	kernstash_options o = {.size = sizeof o, .directory = own, .max_size = 1 << 20};
	kernstash_cache *cache;
	kernstash_device *device;
	kernstash_lookup *l;

	snprintf(shared, sizeof shared, "%s/shared", getenv("TEST_DIR"));
	snprintf(own, sizeof own, "%s/own", getenv("TEST_DIR"));
	CHECK(setenv("KERNSTASH_DIR", shared, 1) == 0);
	for (int private = 1; private >= 0; private--) {
		OK(kernstash_open(private ? &o : NULL, &cache));
		device = open_device(cache);
		l = open_lookup(device, private ? "private" : "shared");
		CHECK(!kernstash_lookup_found(l));
		populate(l, "x");
		kernstash_lookup_close(l);
		l = open_lookup(device, private ? "shared" : "private");
		CHECK(!kernstash_lookup_found(l));
		kernstash_lookup_close(l);
		kernstash_device_close(device);
		OK(kernstash_close(cache));
	}
}

/* What a source reads besides itself is not in the key. */
void sources(void)
{
	static const struct {
		const char *text;
		bool alone, versioned; /* may be stored */
	} all[] = {
		{"kernel void f() {}", true, true},
		{"#include \"f.h\"\nkernel void f() {}", false, true},
		{"// #include \"f.h\"\nkernel void f() {}", true, true},
		{"# include <f.h>", false, true},
		{"#if __has_include(\"f.h\")\n#endif", false, true},
		{"constant char s[] = __DATE__;", false, false},
	};
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (int versioned = 0; versioned < 2; versioned++) {
			bool may = versioned ? all[i].versioned : all[i].alone;
			for (int again = 0; again < 2; again++) {
				kernstash_lookup *l;
				OK(kernstash_lookup_open(device, "program", &l));
				OK(kernstash_lookup_source(l, all[i].text, strlen(all[i].text)));
				if (versioned)
					OK(kernstash_lookup_library(l, "lib", "1"));
				CHECK(kernstash_lookup_found(l) == (may && again));
				if (!kernstash_lookup_found(l)) {
					OK(kernstash_lookup_set(l, all[i].text, strlen(all[i].text)));
					IS(may ? KERNSTASH_OK : KERNSTASH_NOT_STORED, kernstash_lookup_populate(l));
				}
				check_binary(l, all[i].text);
				kernstash_lookup_close(l);
			}
		}
	CHECK(counter(cache, "not-cacheable.headers") > 0);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}
