//go:build linux && cgo

#define _GNU_SOURCE
#include "enter.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The bounds of the first thread's stack glibc finds in /proc/self/maps, which has
 * a line for each of a host's hundreds of mappings: it takes the kernel 0.1 ms and more
 * to write them, and Go asks for the bounds, too. They are known without. */

extern void *__libc_stack_end; /* of the dynamic linker: where the stack was when the process began */

/* Other mappings stay away from the stack by 128 MiB and more, whatever its limit is
 * (mmap_base in the kernel), so half of that is the stack's own or free. */
enum { stack_most = 64 << 20 };

bool ks_first_stack(uintptr_t *low, uintptr_t *high)
{
	struct rlimit limit;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)__libc_stack_end, size = stack_most;
	char here;
	uintptr_t at = (uintptr_t)&here;

	if (end == 0 || syscall(SYS_gettid) != getpid() || getrlimit(RLIMIT_STACK, &limit) != 0)
		return false;
	if (limit.rlim_cur < size)
		size = (uintptr_t)limit.rlim_cur;
	/* Of the page in which the stack began the rest is the kernel's: arguments and
	 * environment, which count against the limit, too. */
	*high = (end + page - 1) & ~(page - 1);
	*low = (*high - size + page - 1) & ~(page - 1);
	return at > *low && at < *high; /* else it is a coroutine's, or of another kind of process */
}

int __real_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);

/* What Go calls in its stead (-Wl,--wrap). */
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
	uintptr_t low, high;

	if (!pthread_equal(thread, pthread_self()) || !ks_first_stack(&low, &high))
		return __real_pthread_getattr_np(thread, attributes);
	int code = pthread_attr_init(attributes);
	return code != 0 ? code : pthread_attr_setstack(attributes, (void *)low, high - low);
}
