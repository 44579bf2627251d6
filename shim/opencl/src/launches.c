/*
 * launches.c: which local sizes are used, for drivers that compile at launch.
 * Each kind of launch is told once; one that was told costs a look in two
 * tables, and no memory.
 */
#include "shim.h"

#include <stdlib.h>

/* The largest global size for which PoCL makes code of its own for small grids. */
enum { SMALL_GRID = 65534 };

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static uint64_t signature(uint64_t seed, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local)
{
	bool moved = false, small = true;
	uint64_t h = mix(seed, dimensions);
	for (cl_uint i = 0; i < dimensions; i++) {
		moved = moved || (offset != NULL && offset[i] != 0);
		small = small && global[i] <= SMALL_GRID;
		h = mix(h, local != NULL ? local[i] : global[i]);
	}
	h = mix(h, (uint64_t)moved | (uint64_t)small << 1 | (uint64_t)(local != NULL) << 2);
	return h == 0 ? 1 : h;
}

/* An application that lets the driver choose may launch a new size each time. */
enum { MOST_LAUNCHES = 4096 };

/* Under the lock: whether it is to be told. At most half of the table's places are taken. */
static bool is_new(struct program *p, uint64_t h)
{
	enum { PLACES = 2 * MOST_LAUNCHES };
	if (p->launches == NULL)
		p->launches = calloc(PLACES, sizeof(*p->launches));
	if (p->launches == NULL)
		return false;
	size_t at = h % PLACES;
	while (p->launches[at] != 0 && p->launches[at] != h)
		at = (at + 1) % PLACES;
	if (p->launches[at] == h || p->nlaunches == MOST_LAUNCHES)
		return false;
	p->launches[at] = h;
	p->nlaunches++;
	return true;
}

void kernel_launched(cl_kernel handle, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local)
{
	if (dimensions < 1 || dimensions > 3 || global == NULL)
		return;
	struct kernel *k = kernel_get(handle);
	if (k != NULL && k->id != 0) {
		uint64_t h = signature(k->seed, dimensions, offset, global, local);
		state_lock();
		bool told = !is_new(k->program, h);
		state_unlock();
		if (!told)
			library_launched(k->id, k->name, dimensions, offset, global, local);
	}
	kernel_put(k);
}

cl_int CL_API_CALL ks_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
	const size_t *global, const size_t *local, cl_uint nevents, const cl_event *events, cl_event *event)
{
	kernel_launched(kernel, dimensions, offset, global, local);
	return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, nevents, events, event);
}

cl_int CL_API_CALL ks_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint nevents, const cl_event *events,
	cl_event *event)
{
	static const size_t one = 1;
	kernel_launched(kernel, 1, NULL, &one, &one);
	return next.clEnqueueTask(queue, kernel, nevents, events, event);
}
