/*
 * layers.c: whether a library knows layers, which we then come in by. Its name and
 * functions do not say so; the variable's name among its constants does.
 */
#include "behind.h"

#include <link.h>

/* What is looked through at most. Loaders have 70 KiB; what is larger is a driver, or has
 * its loader inside, and that brings us in before a program is made (door_claim). */
enum { MOST = 2 << 20 };

/* A sanitizer of the library's own leaves gaps between constants. */
#if defined(__clang__)
#define BARE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define BARE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

/* memmem, which sanitizers stand before. */
BARE static bool holds(const char *at, size_t n, const char *what, size_t size)
{
	for (size_t i = 0; i + size <= n; i++) {
		size_t same = 0;
		while (same < size && at[i + same] == what[same])
			same++;
		if (same == size)
			return true;
	}
	return false;
}

struct look {
	uintptr_t at;
	bool is_here, knows;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
	static const char variable[] = "OPENCL_LAYERS"; /* with its NUL */
	struct look *l = argument;
	size_t left = MOST;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !l->is_here; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		l->is_here = p->p_type == PT_LOAD && l->at - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
	}
	for (int i = 0; i < info->dlpi_phnum && l->is_here && !l->knows; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD || (p->p_flags & PF_R) == 0 || (p->p_flags & PF_W) != 0)
			continue;
		size_t n = p->p_filesz < left ? p->p_filesz : left;
		left -= n;
		l->knows = holds((const char *)(info->dlpi_addr + p->p_vaddr), n, variable, sizeof(variable));
	}
	return l->is_here;
}

bool knows_layers(const void *function)
{
	struct look l = {.at = (uintptr_t)function};
	return dl_iterate_phdr(look_at, &l) == 0 || l.knows; /* 0: it is in another namespace */
}

static int count(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	*(unsigned long long *)argument = info->dlpi_subs;
	return 1;
}

unsigned long long removals(void)
{
	unsigned long long n = 0;
	dl_iterate_phdr(count, &n);
	return n;
}
