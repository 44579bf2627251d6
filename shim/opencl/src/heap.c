/*
 * heap.c: has pages ready for what a driver makes of a large binary.
 *
 * The driver takes a megabyte or two from the end of the C library's heap for a large
 * program, and frees it with the program. The C library gives that back to the system, and
 * has each page of it made anew for the next program, at a microsecond and more each. Made
 * in one go they cost a quarter of that.
 */
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum {
	large = 256 << 10, /* of binaries: less takes little memory */
	piece = 100 << 10, /* less than what the C library maps by itself */
	most = 32,         /* pieces; holes in the heap take some, which are not touched */
	limit = 512 << 10, /* more at the end of the heap, with what is free before it, would be given back at once */
	failures = 4,
};

static struct {
	void *end;       /* of the heap, before the last program */
	size_t want;     /* by which it grew for that; 0: it did not, or there was none */
	unsigned failed; /* times that it was of no use */
} heap;

/* Has the kernel make all pages of some memory at once, which is about to be written: false
 * where it does not do that. */
static bool make_pages(void *start, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1), last = ((uintptr_t)start + size) & ~(page - 1);
	int saved = errno;
	bool made = first >= last || madvise((void *)first, last - first, MADV_POPULATE_WRITE) == 0;
	errno = saved;
	return made;
}

/* Has the heap grow by some bytes, with pages: false where that was of no use. */
static bool grow(size_t want)
{
	unsigned char *all[most], *end = sbrk(0);
	size_t made = 0;
	bool good = true;
	int n = 0;
	while (good && made < want && n < most && (all[n] = malloc(piece)) != NULL) {
		unsigned char *from = all[n++], *to = from + piece;
		if (to <= end)
			continue; /* a hole */
		if (from > (unsigned char *)sbrk(0)) {
			good = false; /* another heap */
			break;
		}
		if (from < end)
			from = end;
		good = make_pages(from, (size_t)(to - from));
		made += (size_t)(to - from);
	}
	while (n > 0)
		free(all[--n]);
	/* What is free at the end may be too much again. */
	return good && made > 0 && (size_t)((unsigned char *)sbrk(0) - end) >= made / 2 && (unsigned char *)sbrk(0) > end;
}

void *heap_begin(size_t binaries)
{
	if (binaries < large)
		return NULL;
	unsigned char *end = sbrk(0);
	state_lock();
	/* Where the heap is longer than before, what was there for the last one is still. */
	bool shrunk = end <= (unsigned char *)heap.end;
	size_t want = shrunk && heap.failed < failures ? heap.want : 0;
	heap.end = end;
	state_unlock();
	if (want > 0 && !grow(want)) {
		state_lock();
		heap.failed++;
		heap.want /= 2;
		state_unlock();
	}
	return end;
}

void heap_end(void *begun)
{
	if (begun == NULL)
		return;
	unsigned char *end = sbrk(0);
	size_t grew = end > (unsigned char *)begun ? (size_t)(end - (unsigned char *)begun) : 0;
	grew = grew < limit ? grew : limit;
	state_lock();
	/* What was too much, or of no use, is not tried again. */
	if (heap.failed == 0 || grew < heap.want)
		heap.want = grew;
	state_unlock();
}
