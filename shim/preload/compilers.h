/* compilers.h: which programs the command runs with the cache, for those that start them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

/* The programs that the command knows: cmd/kernstash/internal/compile. */
static const char *const compilers[] = {"ptxas", "ptxas-blackwell", "nvcc"};

static const char *base(const char *file) { return strrchr(file, '/') == NULL ? file : strrchr(file, '/') + 1; }

static bool is_compiler(const char *file)
{
	for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++)
		if (strcmp(base(file), compilers[i]) == 0)
			return true;
	return false;
}

/* Whether a program of Go, which maps much that it never uses, may be started within the limits on memory. */
static bool has_room(void)
{
	struct rlimit most;
	return (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur >= 1UL << 32) &&
		(getrlimit(RLIMIT_DATA, &most) != 0 || most.rlim_cur >= 1UL << 29);
}
