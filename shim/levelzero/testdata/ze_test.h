/* What the test programs have in common: the first device, and files. */
#ifndef ZE_TEST_H
#define ZE_TEST_H

#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../testdata/settle.h"

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

/* What is stored and told in the background is, when this returns. */
static inline void rest(void) { settle(0, 150); }

static inline void check(ze_result_t r, const char *what)
{
	if (r == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s: 0x%x\n", what, (unsigned)r);
	rest();
	exit(1);
}

static inline void start(void)
{
	uint32_t n = 1;
	ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	check(zeInit(0), "zeInit");
	check(zeDriverGet(&n, &driver), "zeDriverGet");
	n = 1;
	check(zeDeviceGet(driver, &n, &device), "zeDeviceGet");
	check(zeContextCreate(driver, &desc, &context), "zeContextCreate");
}

static inline unsigned char *file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	unsigned char *b = malloc(*size + 1);
	if (b == NULL || fread(b, 1, *size, f) != *size)
		exit(1);
	fclose(f);
	return b;
}

static inline unsigned long long sum(const void *data, size_t n) /* FNV-1a */
{
	unsigned long long h = 14695981039346656037ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)data)[i]) * 1099511628211ull;
	return h;
}

static inline ze_module_desc_t described(ze_module_format_t format, const void *code, size_t size, const char *flags)
{
	ze_module_desc_t d = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = format, .inputSize = size, .pInputModule = code,
		.pBuildFlags = flags};
	return d;
}

static inline unsigned char *native_of(ze_module_handle_t m, size_t *size)
{
	check(zeModuleGetNativeBinary(m, size, NULL), "zeModuleGetNativeBinary");
	unsigned char *b = malloc(*size + 1);
	check(zeModuleGetNativeBinary(m, size, b), "zeModuleGetNativeBinary");
	return b;
}

#endif
