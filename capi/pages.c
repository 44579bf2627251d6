//go:build linux && cgo

#define _GNU_SOURCE
#include "start.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

/* The linker's name for the beginning of this library. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* The segments that nobody writes hold what the file holds, so pages of them can go
 * at any moment: whoever needs one gets it from the page cache again. */
void ks_let_pages_go(void)
{
	const ElfW(Ehdr) *head = &__ehdr_start;
	uintptr_t base = (uintptr_t)head;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + head->e_phoff);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < head->e_phnum; i++) {
		uintptr_t from = base + segment[i].p_vaddr, to = from + segment[i].p_filesz;
		if (segment[i].p_type != PT_LOAD || (segment[i].p_flags & PF_W) != 0)
			continue;
		from &= ~(page - 1);
		to = (to + page - 1) & ~(page - 1);
		madvise((void *)from, to - from, MADV_DONTNEED);
	}
}
