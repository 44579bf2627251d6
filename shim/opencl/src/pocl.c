/*
 * pocl.c: what PoCL needs that other drivers do not.
 *
 * With its kernel cache off PoCL keeps the files of each program in a directory of a random name, which goes with
 * the program. A program made of a binary gets the directory that the binary names: whoever restores the same
 * binary at that time, in this process or another, shares it, loses it to the first that is through, and aborts. So
 * each restored program gets a name of its own then.
 */
#include "shim.h"

#include <sys/random.h>

/* A binary of PoCL 3.1: "poclbin", NUL; device, 8 bytes; version, 4; 12 more; then the directory, a string. */
static const unsigned char magic[8] = "poclbin", version[4] = {9, 0, 0, 0};
enum { VERSION = 16, DIRECTORY = 36, DIRECTORY_SIZE = 41 };

static const char uncached[] = "_UNCACHED_"; /* PoCL's own beginning for such names */

static enum pocl_cache cache_of(const char *value)
{
	/* PoCL 3.1 takes whatever does not begin with a 1 for off, others may not. */
	if (value == NULL || value[0] == '1')
		return POCL_CACHE_ON;
	return strcmp(value, "0") == 0 ? POCL_CACHE_OFF : POCL_CACHE_UNKNOWN;
}

static enum pocl_cache at_load = POCL_CACHE_UNKNOWN;

__attribute__((constructor)) static void look(void) { at_load = cache_of(getenv("POCL_KERNEL_CACHE")); }

enum pocl_cache pocl_cache(void)
{
	/* PoCL looks once, when its devices are first asked for. */
	enum pocl_cache now = cache_of(getenv("POCL_KERNEL_CACHE"));
	return now == at_load ? now : POCL_CACHE_UNKNOWN;
}

bool device_is_pocl(cl_device_id device)
{
	char found[64] = "";
	cl_platform_id platform = platform_of(device);
	return platform != NULL && next.clGetPlatformInfo != NULL &&
		next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(found), found, NULL) == CL_SUCCESS &&
		strcmp(found, "Portable Computing Language") == 0;
}

/* Whether the bytes are a directory of a binary: "XX/" and 37 letters, or a random name, and zeros. */
static bool is_directory(const unsigned char *at)
{
	size_t n = strnlen((const char *)at, DIRECTORY_SIZE);
	if (n < sizeof(uncached) || n >= DIRECTORY_SIZE)
		return false;
	if (memcmp(at, uncached, sizeof(uncached) - 1) == 0)
		return true;
	if (n != DIRECTORY_SIZE - 1 || at[2] != '/')
		return false;
	for (size_t i = 0; i < n; i++)
		if (i != 2 && (at[i] < 'A' || at[i] > 'P'))
			return false;
	return true;
}

unsigned char *pocl_unshared(const ksf_field *binary)
{
	unsigned char bytes[(DIRECTORY_SIZE - sizeof(uncached)) / 2];
	const unsigned char *given = binary->data;
	if (binary->size < DIRECTORY + DIRECTORY_SIZE || memcmp(given, magic, sizeof(magic)) != 0 ||
		memcmp(given + VERSION, version, sizeof(version)) != 0 || !is_directory(given + DIRECTORY))
		return NULL;
	unsigned char *own = getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) == (ssize_t)sizeof(bytes) ? malloc(binary->size) : NULL;
	if (own == NULL)
		return NULL;
	memcpy(own, given, binary->size);
	unsigned char *at = own + DIRECTORY;
	memset(at, 0, DIRECTORY_SIZE);
	memcpy(at, uncached, sizeof(uncached) - 1);
	at += sizeof(uncached) - 1;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		*at++ = (unsigned char)('A' + (bytes[i] & 15));
		*at++ = (unsigned char)('A' + (bytes[i] >> 4));
	}
	return own;
}
