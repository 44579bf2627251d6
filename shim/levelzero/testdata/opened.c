/*
 * opened.c: makes a module through functions that it looks up in the loader itself, as
 * plug-ins do.
 *
 *	opened FILE.spv [global|deep|path]
 *
 * global: the loader's symbols are made everybody's; deep: it looks in itself first; path:
 * opened by its path.
 */
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../testdata/settle.h"

#define FIND(name) __typeof__(&name) own_##name = (__typeof__(&name))dlsym(loader, #name)

int main(int argc, char **argv)
{
	static unsigned char code[1 << 20];
	if (argc < 2)
		return 2;
	FILE *f = fopen(argv[1], "rb");
	size_t size = f == NULL ? 0 : fread(code, 1, sizeof(code), f);
	const char *how = argc > 2 ? argv[2] : "", *name = "libze_loader.so.1";
	char path[4096];
	int flags = RTLD_NOW;
	if (strcmp(how, "global") == 0)
		flags |= RTLD_GLOBAL;
	if (strcmp(how, "deep") == 0)
		flags |= RTLD_DEEPBIND;
	void *loader = dlopen(name, flags);
	if (strcmp(how, "path") == 0) {
		Dl_info info;
		if (dladdr(dlsym(loader, "zeDriverGet"), &info) == 0)
			return 1;
		snprintf(path, sizeof(path), "%s", info.dli_fname);
		loader = dlopen(path, flags);
	}
	if (loader == NULL || size == 0)
		return 1;
	FIND(zeInit);
	FIND(zeDriverGet);
	FIND(zeDeviceGet);
	FIND(zeContextCreate);
	FIND(zeModuleCreate);
	FIND(zeModuleBuildLogGetString);
	FIND(zeModuleGetKernelNames);
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_module_build_log_handle_t log;
	ze_context_desc_t about = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV, .inputSize = size, .pInputModule = code};
	uint32_t n = 1;
	size_t length = 0;
	if (own_zeInit(0) != ZE_RESULT_SUCCESS || own_zeDriverGet(&n, &driver) != ZE_RESULT_SUCCESS)
		return 1;
	n = 1;
	if (own_zeDeviceGet(driver, &n, &device) != ZE_RESULT_SUCCESS || own_zeContextCreate(driver, &about, &context) != ZE_RESULT_SUCCESS ||
		own_zeModuleCreate(context, device, &desc, &module, &log) != ZE_RESULT_SUCCESS)
		return 1;
	own_zeModuleBuildLogGetString(log, &length, NULL);
	n = 0;
	own_zeModuleGetKernelNames(module, &n, NULL);
	printf("%u kernels, log of %zu\n", n, length);
	settle(0, 150); /* what is stored and told in the background is */
	return 0;
}
