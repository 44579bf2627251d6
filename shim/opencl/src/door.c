/*
 * door.c: the two ways in, of which one is active: as a layer of the loader
 * (clGetLayerInfo, clInitLayer), or preloaded (preload.c).
 */
#include "shim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

cl_icd_dispatch next;

static _Thread_local int aside;

/* While on, programs that this thread makes and builds are nobody's business but
 * the driver's: the caller is a cache itself. */
EXPORT void kernstash_layer_aside(int on);
EXPORT void kernstash_layer_aside(int on) { aside = on; }

bool stepped_aside(void) { return aside != 0; }

enum door door_wanted(void)
{
	const char *door = secure_getenv("KERNSTASH_OPENCL_DOOR");
	if (door == NULL)
		return DOOR_NONE;
	if (strcmp(door, "layer") == 0)
		return DOOR_LAYER;
	return strcmp(door, "preload") == 0 ? DOOR_PRELOAD : DOOR_NONE;
}

bool door_claim(enum door d)
{
	static atomic_int claimed;
	int nobody = DOOR_NONE;
	return atomic_compare_exchange_strong(&claimed, &nobody, (int)d);
}

void dispatch_fill(cl_icd_dispatch *d, const cl_icd_dispatch *target)
{
#define STAND_BEFORE(name) d->name = target->name == NULL ? NULL : ks_##name;
	EACH_FUNCTION(STAND_BEFORE)
#undef STAND_BEFORE
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
	const char *reason;

	if (target_dispatch == NULL || num_entries_ret == NULL || layer_dispatch_ret == NULL)
		return CL_INVALID_VALUE;
	/* Named twice in OPENCL_LAYERS: the second stands aside. An older loader's
	 * table is shorter; what it lacks stays NULL. */
	static cl_icd_dispatch transparent;
	cl_uint n = num_entries < known ? num_entries : known;
	cl_icd_dispatch *d = initialised ? &transparent : &ours;
	memcpy((void *)d, (const void *)target_dispatch, n * sizeof(void *));
	*num_entries_ret = n;
	*layer_dispatch_ret = d;
	if (initialised || door_wanted() == DOOR_PRELOAD || !door_claim(DOOR_LAYER))
		return CL_SUCCESS;
	initialised = true;
	if (library_unwanted(&reason)) {
		report("out", "reason", reason);
		return CL_SUCCESS;
	}
	/* Without these nothing can be told from anything else. */
	memcpy((void *)&next, (const void *)d, n * sizeof(void *));
	if (next.clGetProgramInfo == NULL || next.clGetProgramBuildInfo == NULL || next.clGetDeviceInfo == NULL)
		return CL_SUCCESS;
	state_guard_fork();
	dispatch_fill(d, &next);
	report("loaded", "door", "opencl-layer");
	return CL_SUCCESS;
}
