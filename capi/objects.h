/*
 * objects.h: the libraries in this process, as the dynamic linker has them.
 */
#ifndef KS_OBJECTS_H
#define KS_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes what the process has loaded and Go asks for: libraries whose base names begin
 * with one of the prefixes, a list of strings that ends with an empty one; and the
 * library that holds the word at the address that is at object, where that can be read.
 * For each: "d" if it is the latter, else "-"; path; an address that is mapped from the
 * file, in hexadecimal; soname; build id in hexadecimal;
 * the sonames it needs; an empty string. Each string ends with a NUL. Returns how many
 * bytes that takes: where it is more than size, not all are there.
 */
size_t ks_objects(uintptr_t object, const char *prefixes, char *to, size_t size);

#endif
