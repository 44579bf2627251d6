/* ze.h: what is needed of Level Zero's API (specification 1.8, "Module"), so that the shim is built where its
 * headers are not. testdata/same.c compares them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint32_t ze_result_t; /* an enumeration there */

enum {
	ZE_RESULT_SUCCESS = 0,
	ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
	ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
	ZE_RESULT_ERROR_MODULE_BUILD_FAILURE = 0x70000004,
	ZE_RESULT_ERROR_MODULE_LINK_FAILURE = 0x70000005,
	ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
};

enum {
	ZE_STRUCTURE_TYPE_MODULE_DESC = 0x1b,
	ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC = 0x20002,
};

enum { ZE_MODULE_FORMAT_IL_SPIRV = 0, ZE_MODULE_FORMAT_NATIVE = 1 };

typedef struct _ze_context_handle_t *ze_context_handle_t;
typedef struct _ze_device_handle_t *ze_device_handle_t;
typedef struct _ze_module_handle_t *ze_module_handle_t;
typedef struct _ze_module_build_log_handle_t *ze_module_build_log_handle_t;

typedef struct ze_module_constants_t {
	uint32_t numConstants;
	const uint32_t *pConstantIds;
	const void **pConstantValues;
} ze_module_constants_t;

typedef struct ze_module_desc_t {
	uint32_t stype;
	const void *pNext;
	uint32_t format;
	size_t inputSize;
	const uint8_t *pInputModule;
	const char *pBuildFlags;
	const ze_module_constants_t *pConstants;
} ze_module_desc_t;

typedef struct ze_module_program_exp_desc_t {
	uint32_t stype;
	const void *pNext;
	uint32_t count;
	const size_t *inputSizes;
	const uint8_t **pInputModules;
	const char **pBuildFlags;
	const ze_module_constants_t **pConstants;
} ze_module_program_exp_desc_t;
