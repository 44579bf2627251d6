/*
 * layers.c: whether a library knows layers, which we then come in by. Its name and
 * functions do not say so; the variable's name among its constants does.
 */
#include "behind.h"

#include <link.h>
#include <string.h>

/* What is looked through at most; loaders have 70 KiB. */
enum { MOST = 16 << 20 };

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
		l->knows = memmem((const void *)(info->dlpi_addr + p->p_vaddr), n, variable, sizeof(variable)) != NULL;
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
