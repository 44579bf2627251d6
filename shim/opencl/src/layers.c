/* layers.c: what is to be known of a library before we stand before it: whether it is a loader (those know the folder
 * in which drivers are listed), or something before one; whether it knows layers, which we then come in by (its name
 * and functions do not say so, the variable's name among its constants does); whether somebody is linked to it. */
#include "shim.h"
#include "../layers.h"

#include <dlfcn.h>
#include <link.h>

/* What is looked through at most. Loaders have 70 KiB; what is larger is a driver, or has
 * its loader inside, and that brings us in before a program is made (inject_claim). */
enum { MOST = 2 << 20 };

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
	const char *text;
	size_t size; /* of the text */
	bool is_here, knows;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
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
		l->knows = holds((const char *)(info->dlpi_addr + p->p_vaddr), n, l->text, l->size);
	}
	return l->is_here;
}

static bool has_text(const void *function, const char *text, size_t size)
{
	struct look l = {.at = (uintptr_t)function, .text = text, .size = size};
	return dl_iterate_phdr(look_at, &l) == 0 || l.knows; /* 0: it is in another namespace */
}

/* The variable's name is looked for with its NUL; behind the folder a slash may follow. */
bool knows_layers(const void *function) { return has_text(function, LAYERS, sizeof(LAYERS)); }
bool is_loader(const void *function) { return has_text(function, "/OpenCL/vendors", 15); }

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

/* The strings of a dynamic section; the dynamic linker makes an address of what the file has, but not everywhere. */
static const char *strings_of(const struct dl_phdr_info *info, const ElfW(Dyn) *dynamic)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_STRTAB)
			return (const char *)(dynamic->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr + dynamic->d_un.d_ptr : dynamic->d_un.d_ptr);
	return NULL;
}

static int needs(struct dl_phdr_info *info, size_t size, void *soname)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_DYNAMIC)
			continue;
		const ElfW(Dyn) *dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr);
		const char *strings = strings_of(info, dynamic);
		for (; strings != NULL && dynamic->d_tag != DT_NULL; dynamic++)
			if (dynamic->d_tag == DT_NEEDED && strcmp(strings + dynamic->d_un.d_val, soname) == 0)
				return 1;
	}
	return 0;
}

bool somebody_is_linked(const void *function)
{
	Dl_info info;
	struct link_map *map;
	const char *soname = NULL, *strings = NULL;
	if (dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
		return true;
	const struct dl_phdr_info its = {.dlpi_addr = map->l_addr};
	strings = strings_of(&its, map->l_ld);
	for (const ElfW(Dyn) *d = map->l_ld; strings != NULL && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			soname = strings + d->d_un.d_val;
	if (soname == NULL) { /* it is needed by its file's name, then */
		const char *slash = strrchr(map->l_name, '/');
		soname = slash == NULL ? map->l_name : slash + 1;
	}
	return dl_iterate_phdr(needs, (void *)(uintptr_t)soname) != 0;
}
