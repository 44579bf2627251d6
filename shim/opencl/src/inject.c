/* inject.c: the two ways in, of which one is active: as a layer of the loader (here), or preloaded (preload.c). */
#include "shim.h"

#include <dlfcn.h>

cl_icd_dispatch next;

static _Thread_local int own_call;

/* While on, what this thread makes and builds is nobody's business but the driver's: the caller is a cache itself. */
EXPORT void kernstash_layer_aside(int on) { own_call = on; }

bool in_own_call(void) { return own_call != 0; }

enum inject inject_wanted(void)
{
	static const char *const names[] = {[INJECT_LAYER] = "layer", [INJECT_PRELOAD] = "preload", [INJECT_AUTO] = "auto"};
	const char *inject = secure_getenv("KERNSTASH_INJECT");
	for (enum inject d = INJECT_LAYER; inject != NULL && d <= INJECT_AUTO; d++)
		if (strcmp(inject, names[d]) == 0)
			return d;
	return INJECT_NONE;
}

bool inject_claim(enum inject d)
{
	static atomic_int claimed;
	int nobody = INJECT_NONE;
	return atomic_compare_exchange_strong(&claimed, &nobody, (int)d);
}

/* The functions that make programs, and that are asked what they and their devices are. */
#define EACH_THAT_DECIDES(F) \
	F(clCreateProgramWithSource) F(clCreateProgramWithBinary) F(clCreateProgramWithIL) F(clBuildProgram) F(clCompileProgram) \
	F(clLinkProgram) F(clSetProgramSpecializationConstant) F(clGetProgramInfo) F(clGetProgramBuildInfo) F(clGetDeviceInfo) \
	F(clGetPlatformInfo)

/* Loaders find drivers by this function, the library's own one: what is linked to a driver has the driver's. */
bool is_driver_of(const void *function)
{
	void *object = object_of(function, false), *found = object == NULL ? NULL : dlsym(object, "clIcdGetPlatformIDsKHR");
	bool is = found != NULL && same_object(found, function);
	if (object != NULL)
		dlclose(object);
	return is;
}

static bool is_own(const void *function, const void *loader)
{
	return function == NULL || same_object(function, loader) || is_driver_of(function);
}

bool nobody_between(const cl_icd_dispatch *target, const void *loader)
{
#define IS_OWN(name) &&is_own((const void *)(uintptr_t)target->name, loader)
	return true EACH_THAT_DECIDES(IS_OWN);
}

void dispatch_fill(cl_icd_dispatch *d, const cl_icd_dispatch *target)
{
#define STAND_BEFORE(name) d->name = target->name == NULL ? NULL : ks_##name;
	EACH_FUNCTION(STAND_BEFORE)
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *to, size_t *size_ret)
{
	static const char name[] = "kernstash";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	switch (what) {
	case CL_LAYER_API_VERSION:
		return answer(&version, sizeof(version), room, to, size_ret);
	case CL_LAYER_NAME:
		return answer(name, sizeof(name), room, to, size_ret);
	}
	return CL_INVALID_VALUE;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
	cl_uint *num_entries_ret, const cl_icd_dispatch **layer_dispatch_ret)
{
	static cl_icd_dispatch ours;
	static bool initialised;
	const cl_uint known = sizeof(ours) / sizeof(void *);

	if (target_dispatch == NULL || num_entries_ret == NULL || layer_dispatch_ret == NULL)
		return CL_INVALID_VALUE;
	/* The second of two in OPENCL_LAYERS stands aside. An older loader's table is shorter; what it lacks stays NULL. */
	static cl_icd_dispatch transparent;
	cl_uint n = num_entries < known ? num_entries : known;
	cl_icd_dispatch *d = initialised ? &transparent : &ours;
	memcpy((void *)d, (const void *)target_dispatch, n * sizeof(void *));
	*num_entries_ret = n;
	*layer_dispatch_ret = d;
	library_look(); /* the loader loads the drivers in this call, too */
	if (initialised || inject_wanted() == INJECT_PRELOAD || !inject_claim(INJECT_LAYER))
		return CL_SUCCESS;
	initialised = true;
	const char *unwanted = library_unwanted();
	if (unwanted != NULL) {
		report("out", "reason", unwanted);
		return CL_SUCCESS;
	}
	/* Without these nothing can be told from anything else. */
	memcpy((void *)&next, (const void *)d, n * sizeof(void *));
	if (next.clGetProgramInfo == NULL || next.clGetProgramBuildInfo == NULL || next.clGetDeviceInfo == NULL)
		return CL_SUCCESS;
	if (!nobody_between(&next, __builtin_return_address(0))) {
		report("out", "reason", "another layer stands between this one and the driver");
		return CL_SUCCESS;
	}
	state_guard_fork();
	dispatch_fill(d, &next);
	report("loaded", "front_end", "opencl-layer");
	return CL_SUCCESS;
}
