/*
 * contexts.c: references of contexts. A shadow is a program of which the
 * application knows nothing; some drivers count it among the context's
 * references.
 */
#include "shim.h"

#include <stdatomic.h>
#include <string.h>

static struct shadow *first; /* of those with a context */
/* Whether this driver counts programs: -1 while nothing is known. */
static atomic_int counted = -1;

static cl_uint references(cl_context context)
{
	cl_uint n = 0;
	if (next.clGetContextInfo == NULL ||
		next.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL) != CL_SUCCESS)
		return 0;
	return n;
}

cl_uint context_count(cl_context context) { return atomic_load(&counted) < 0 ? references(context) : 0; }

/* Another thread may have made a program meanwhile: then it shows at the next. */
void context_counts(cl_context context, cl_uint before)
{
	cl_uint after = before == 0 ? 0 : references(context);
	if (before != 0 && (after == before || after == before + 1)) {
		int unknown = -1;
		atomic_compare_exchange_strong(&counted, &unknown, (int)(after - before));
	}
}

void context_holds(struct shadow *s, cl_context context)
{
	state_lock();
	s->context = context;
	s->next = first;
	if (first != NULL)
		first->before = s;
	first = s;
	state_unlock();
}

void context_lets_go(struct shadow *s)
{
	if (s->context == NULL)
		return;
	state_lock();
	if (s->next != NULL)
		s->next->before = s->before;
	if (s->before != NULL)
		s->before->next = s->next;
	else
		first = s->next;
	state_unlock();
}

cl_int CL_API_CALL ks_clGetContextInfo(cl_context handle, cl_context_info what, size_t room, void *to, size_t *size_ret)
{
	cl_int code = next.clGetContextInfo(handle, what, room, to, size_ret);
	if (what != CL_CONTEXT_REFERENCE_COUNT || code != CL_SUCCESS || to == NULL || atomic_load(&counted) != 1)
		return code;
	cl_uint n, shadows = 0;
	memcpy(&n, to, sizeof(n));
	state_lock();
	for (const struct shadow *s = first; s != NULL; s = s->next)
		shadows += s->context == handle;
	state_unlock();
	if (shadows < n)
		n -= shadows;
	memcpy(to, &n, sizeof(n));
	return code;
}
