/*
 * same.c: src/ze.h says what Level Zero's own header says. It is only compiled: once for
 * each, and what they come to is compared.
 */
#ifdef OWN
#include "../src/ze.h"
#else
#include <level_zero/ze_api.h>
#endif
#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define AT(type, member) printf(#type "." #member " %zu\n", offsetof(type, member))
#define VALUE(name) printf(#name " 0x%x\n", (unsigned)name)

int main(void)
{
	SIZE(ze_result_t);
	SIZE(ze_module_constants_t);
	AT(ze_module_constants_t, numConstants);
	AT(ze_module_constants_t, pConstantIds);
	AT(ze_module_constants_t, pConstantValues);
	SIZE(ze_module_desc_t);
	AT(ze_module_desc_t, stype);
	AT(ze_module_desc_t, pNext);
	AT(ze_module_desc_t, format);
	AT(ze_module_desc_t, inputSize);
	AT(ze_module_desc_t, pInputModule);
	AT(ze_module_desc_t, pBuildFlags);
	AT(ze_module_desc_t, pConstants);
	SIZE(ze_module_program_exp_desc_t);
	AT(ze_module_program_exp_desc_t, count);
	AT(ze_module_program_exp_desc_t, inputSizes);
	AT(ze_module_program_exp_desc_t, pInputModules);
	AT(ze_module_program_exp_desc_t, pBuildFlags);
	AT(ze_module_program_exp_desc_t, pConstants);
	VALUE(ZE_RESULT_SUCCESS);
	VALUE(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
	VALUE(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
	VALUE(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
	VALUE(ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
	VALUE(ZE_RESULT_ERROR_UNINITIALIZED);
	VALUE(ZE_STRUCTURE_TYPE_MODULE_DESC);
	VALUE(ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC);
	VALUE(ZE_MODULE_FORMAT_IL_SPIRV);
	VALUE(ZE_MODULE_FORMAT_NATIVE);
	return 0;
}
