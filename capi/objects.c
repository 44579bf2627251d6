//go:build linux && cgo

#define _GNU_SOURCE
#include "objects.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* All is read while the dynamic linker keeps others from unloading it, and within
 * what it has mapped. */

struct list {
	const char *prefixes;
	uintptr_t driver;
	char *to;
	size_t size, used;
};

static void write_bytes(struct list *l, const char *from, size_t n)
{
	if (l->used + n <= l->size)
		memcpy(l->to + l->used, from, n);
	l->used += n;
}

static void write_text(struct list *l, const char *text)
{
	write_bytes(l, text, strlen(text) + 1);
}

static const char digits[] = "0123456789abcdef";

static void write_address(struct list *l, uintptr_t at)
{
	for (int shift = 8 * (int)sizeof(at) - 4; shift >= 0; shift -= 4)
		write_bytes(l, &digits[(at >> shift) & 15], 1);
	write_text(l, "");
}

/* Where the first segment begins, which is mapped from the file; 0 without any. */
static uintptr_t first_segment(const struct dl_phdr_info *o)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		if (o->dlpi_phdr[i].p_type == PT_LOAD)
			return o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
	}
	return 0;
}

/* How many bytes from an address on are of a segment that can be read. */
static size_t mapped(const struct dl_phdr_info *o, uintptr_t at)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];
		uintptr_t from = o->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_R) != 0 && at >= from && at - from < p->p_filesz)
			return p->p_filesz - (at - from);
	}
	return 0;
}

static bool holds(const struct dl_phdr_info *o, uintptr_t at)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && at - (o->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

static bool is_asked_for(const struct list *l, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
	/* Asked of each library for thirty prefixes: one pass, instead of three by strlen and strncmp. */
	for (const char *p = l->prefixes; *p != 0; p += strlen(p) + 1) {
		const char *b = base;
		for (; *p != 0 && *p == *b; p++)
			b++;
		if (*p == 0)
			return true;
	}
	return false;
}

/* The build id among notes: name size, descriptor size and type, 4 bytes each, then
 * name and descriptor, each padded to 4 bytes, or to 8 in segments that are so aligned. */
static void write_build_id(struct list *l, const struct dl_phdr_info *o)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];
		size_t pad = p->p_align == 8 ? 7 : 3, left = p->p_filesz;
		const char *at = (const char *)(o->dlpi_addr + p->p_vaddr);
		if (p->p_type != PT_NOTE || mapped(o, (uintptr_t)at) < left)
			continue;
		while (left >= sizeof(ElfW(Nhdr))) {
			ElfW(Nhdr) note;
			memcpy(&note, at, sizeof(note));
			size_t start = (sizeof(note) + note.n_namesz + pad) & ~pad, end = start + note.n_descsz;
			if (end > left)
				break;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0 && note.n_namesz == 4 && memcmp(at + sizeof(note), "GNU", 4) == 0) {
				for (size_t k = start; k < end; k++) {
					unsigned char c = (unsigned char)at[k];
					write_bytes(l, (char[]){digits[c >> 4], digits[c & 15]}, 2);
				}
				write_text(l, "");
				return;
			}
			end = (end + pad) & ~pad;
			at += end < left ? end : left;
			left -= end < left ? end : left;
		}
	}
	write_text(l, "");
}

/* A string of the object's; "" where it is none. */
static const char *string_at(const struct dl_phdr_info *o, uintptr_t at)
{
	size_t n = mapped(o, at);
	return n > 0 && memchr((const char *)at, 0, n < 256 ? n : 256) != NULL ? (const char *)at : "";
}

static void write_dynamic(struct list *l, const struct dl_phdr_info *o)
{
	const ElfW(Dyn) *first = NULL, *end = NULL;
	uintptr_t strings = 0, soname = 0;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		if (o->dlpi_phdr[i].p_type == PT_DYNAMIC)
			first = (const ElfW(Dyn) *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
	}
	if (first != NULL) {
		end = first + mapped(o, (uintptr_t)first) / sizeof(*first);
		for (const ElfW(Dyn) *d = first; d < end && d->d_tag != DT_NULL; d++) {
			if (d->d_tag == DT_STRTAB)
				strings = d->d_un.d_ptr;
			else if (d->d_tag == DT_SONAME)
				soname = d->d_un.d_val;
		}
		/* Some dynamic linkers write the address, others leave it to be added. */
		if (mapped(o, strings) == 0)
			strings += o->dlpi_addr;
	}
	write_text(l, soname == 0 ? "" : string_at(o, strings + soname));
	write_build_id(l, o);
	if (first != NULL) {
		for (const ElfW(Dyn) *d = first; d < end && d->d_tag != DT_NULL; d++) {
			const char *name = d->d_tag == DT_NEEDED ? string_at(o, strings + d->d_un.d_val) : "";
			if (*name != 0)
				write_text(l, name);
		}
	}
	write_text(l, "");
}

static int add(struct dl_phdr_info *o, size_t size, void *argument)
{
	struct list *l = argument;
	(void)size;
	bool driver = l->driver != 0 && holds(o, l->driver);
	if (o->dlpi_name == NULL || *o->dlpi_name == 0 || (!driver && !is_asked_for(l, o->dlpi_name)))
		return 0;
	write_text(l, driver ? "d" : "-");
	write_text(l, o->dlpi_name);
	write_address(l, first_segment(o));
	write_dynamic(l, o);
	return 0;
}

/* The word at an address that may be of nothing. */
static uintptr_t word(uintptr_t at)
{
	uintptr_t w = 0;
	struct iovec to = {&w, sizeof(w)}, from = {(void *)at, sizeof(w)};
	if (at % sizeof(w) != 0 || process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof(w))
		return 0;
	return w;
}

size_t ks_objects(uintptr_t object, const char *prefixes, char *to, size_t size)
{
	struct list l = {.prefixes = prefixes, .to = to, .size = size};
	uintptr_t table = word(object);
	if (table != 0)
		l.driver = word(table);
	dl_iterate_phdr(add, &l);
	return l.used;
}
