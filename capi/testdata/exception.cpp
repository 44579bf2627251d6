// exception.cpp: a build that throws. The header is C++ too.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "kernstash.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			std::abort(); \
		} \
	} while (0)

static int throws(void *user, kernstash_lookup *)
{
	*static_cast<bool *>(user) = true;
	throw std::runtime_error("from the build");
}

static int builds(void *, kernstash_lookup *l)
{
	return kernstash_lookup_set(l, "built", 5);
}

static kernstash_lookup *open_lookup(kernstash_device *device)
{
	kernstash_lookup *l = nullptr;
	CHECK(kernstash_lookup_open(device, "program", &l) == KERNSTASH_OK);
	CHECK(kernstash_lookup_library(l, "lib", "1") == KERNSTASH_OK);
	return l;
}

int main()
{
	kernstash_cache *cache = nullptr;
	kernstash_device *device = nullptr;
	kernstash_identity id = {};
	id.size = sizeof id;
	id.api = "test";
	id.name = "device";
	id.driver = "1";
	CHECK(kernstash_open(nullptr, &cache) == KERNSTASH_OK);
	CHECK(kernstash_device_open(cache, &id, &device) == KERNSTASH_OK);

	for (int i = 0; i < 3; i++) {
		kernstash_lookup *l = open_lookup(device);
		bool called = false, caught = false;
		try {
			kernstash_lookup_get_or_build(l, throws, &called);
		} catch (const std::runtime_error &e) {
			caught = std::strcmp(e.what(), "from the build") == 0;
		}
		CHECK(called && caught);
		if (i == 1) // the lookup is as good as new
			CHECK(kernstash_lookup_get_or_build(l, builds, nullptr) == KERNSTASH_OK && kernstash_lookup_found(l));
		kernstash_lookup_close(l);
		if (i == 1)
			break;
	}
	std::thread([device] {
		kernstash_lookup *l = open_lookup(device);
		CHECK(kernstash_lookup_get_or_build(l, builds, nullptr) == KERNSTASH_OK);
		kernstash_lookup_close(l);
	}).join();
	kernstash_device_close(device);
	CHECK(kernstash_close(cache) == KERNSTASH_OK);
	return 0;
}
