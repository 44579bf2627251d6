/*
 * contexts.c: references of contexts. A shadow is a program of which the
 * application knows nothing; some drivers count it among the context's
 * references.
 */
#include "shim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct context {
	struct entry entry;
	cl_uint shadows;
};

static struct table contexts;
/* Whether this driver counts programs: -1 while nothing is known. */
static atomic_int counted = -1;

cl_uint context_references(cl_context context)
{
	cl_uint n = 0;
	if (next.clGetContextInfo == NULL ||
		next.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL) != CL_SUCCESS)
		return 0;
	return n;
}

/* Before and after are what was counted when a program was made. Another thread
 * may have made one meanwhile: then it shows at the next. */
void context_counts(cl_uint before, cl_uint after)
{
	if (before != 0 && (after == before || after == before + 1)) {
		int unknown = -1;
		atomic_compare_exchange_strong(&counted, &unknown, (int)(after - before));
	}
}

bool context_needs_count(void) { return atomic_load(&counted) < 0; }

void context_add(cl_context handle, int shadows)
{
	state_lock();
	struct context *c = (struct context *)table_find(&contexts, handle);
	if (c == NULL && shadows > 0) {
		c = calloc(1, sizeof(*c));
		if (c != NULL) {
			c->entry.key = handle;
			if (!table_insert(&contexts, &c->entry)) {
				free(c);
				c = NULL;
			}
		}
	}
	if (c != NULL) {
		c->shadows += (cl_uint)shadows;
		if (c->shadows == 0) {
			table_remove(&contexts, &c->entry);
			free(c);
		}
	}
	state_unlock();
}

cl_int CL_API_CALL ks_clGetContextInfo(cl_context handle, cl_context_info what, size_t room, void *to, size_t *size_ret)
{
	cl_int code = next.clGetContextInfo(handle, what, room, to, size_ret);
	if (what != CL_CONTEXT_REFERENCE_COUNT || code != CL_SUCCESS || to == NULL || atomic_load(&counted) != 1)
		return code;
	cl_uint n;
	memcpy(&n, to, sizeof(n));
	state_lock();
	struct context *c = (struct context *)table_find(&contexts, handle);
	if (c != NULL && c->shadows < n)
		n -= c->shadows;
	state_unlock();
	memcpy(to, &n, sizeof(n));
	return code;
}
