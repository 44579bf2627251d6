#include "front.h"

#include <dlfcn.h>

static int open_device(kernstash_cache *cache, ks_device_call *c, kernstash_device **device)
{
	kernstash_device *d = calloc(1, sizeof *d);

	if (d == NULL)
		return ks_fail(KERNSTASH_NO_MEMORY, "device");
	d->cache = cache;
	c->device = d;
	int status = ks_ask(ks_go_device, &c->call);
	if (status != KERNSTASH_OK) {
		free(d);
		return status;
	}
	atomic_init(&d->uses, 1);
	atomic_fetch_add_explicit(&cache->uses, 1, memory_order_relaxed);
	*device = d;
	return KERNSTASH_OK;
}

static bool named(const kernstash_pair *pairs, size_t count)
{
	if (count > 0 && (pairs == NULL || count > 4096))
		return false;
	for (size_t i = 0; i < count; i++)
		if (pairs[i].name == NULL || pairs[i].value == NULL)
			return false;
	return true;
}

static bool empty(const char *s) { return s == NULL || *s == '\0'; }

int kernstash_device_open(kernstash_cache *cache, const kernstash_identity *identity, kernstash_device **device)
{
	ks_device_call c = {0};

	if (device != NULL)
		*device = NULL;
	if (cache == NULL || identity == NULL || device == NULL)
		return ks_fail(KERNSTASH_INVALID, "device: NULL");
	if (identity->size < sizeof *identity || identity->size > 4096)
		return ks_fail(KERNSTASH_INVALID, "device: %zu is not the size of kernstash_identity", identity->size);
	if (empty(identity->api) || empty(identity->name) || empty(identity->driver))
		return ks_fail(KERNSTASH_INVALID, "device: an identity without api, name or driver");
	if (!named(identity->traits, identity->trait_count) || !named(identity->compiler, identity->compiler_count))
		return ks_fail(KERNSTASH_INVALID, "device: a trait or a compiler without name or value");
	c.identity = identity;
	return open_device(cache, &c, device);
}

/* The application's loader: the one that the process has loaded, whoever did. */
static void *loader_symbol(const char *name)
{
	void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *at = loader != NULL ? dlsym(loader, name) : NULL;

	if (loader != NULL)
		dlclose(loader);
	return at != NULL ? at : dlsym(RTLD_DEFAULT, name);
}

int kernstash_device_opencl(kernstash_cache *cache, void *cl_platform_id, void *cl_device_id, kernstash_device **device)
{
	enum { device_platform = 0x1031 }; /* CL_DEVICE_PLATFORM */
	typedef int32_t get_info(void *, uint32_t, size_t, void *, size_t *);
	ks_device_call c = {0};

	if (device != NULL)
		*device = NULL;
	if (cache == NULL || device == NULL || cl_device_id == NULL)
		return ks_fail(KERNSTASH_INVALID, "device: NULL");
	c.get_platform_info = loader_symbol("clGetPlatformInfo");
	c.get_device_info = loader_symbol("clGetDeviceInfo");
	if (c.get_platform_info == NULL || c.get_device_info == NULL)
		return ks_fail(KERNSTASH_DEVICE, "device: no libOpenCL.so.1 is loaded");
	if (cl_platform_id == NULL) {
		get_info *ask;
		memcpy(&ask, &c.get_device_info, sizeof ask);
		if (ask(cl_device_id, device_platform, sizeof cl_platform_id, &cl_platform_id, NULL) != 0 || cl_platform_id == NULL)
			return ks_fail(KERNSTASH_DEVICE, "device: it does not tell its platform");
	}
	c.platform = cl_platform_id;
	c.id = cl_device_id;
	return open_device(cache, &c, device);
}

const char *kernstash_device_directory(const kernstash_device *device)
{
	return device != NULL ? device->directory : "";
}

void kernstash_device_close(kernstash_device *device)
{
	if (device == NULL || atomic_fetch_sub_explicit(&device->uses, 1, memory_order_acq_rel) != 1)
		return;
	ks_cache_unuse(device->cache);
	free(device);
}
