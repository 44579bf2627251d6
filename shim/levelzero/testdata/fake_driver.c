/*
 * fake_driver.c: preloaded behind the shim, before the loader. It does what the driver at
 * hand does not, as FAKE_DRIVER says: "warns" when it compiles; "refuses" native code,
 * "forgets" it has any, is "short" of memory for it, gives "other" kernels, or has other
 * words for "names" that are not in it; or it "looks" whether somebody handles crashes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static ze_module_build_log_handle_t warned;
static ze_module_handle_t restored;
static const char warning[] = "warning: it is slow\n";

static int is(const char *what)
{
	const char *v = getenv("FAKE_DRIVER");
	return v != NULL && strcmp(v, what) == 0;
}

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	NEXT(zeModuleCreate);
	if (desc->format == ZE_MODULE_FORMAT_NATIVE && is("refuses"))
		return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	if (desc->format == ZE_MODULE_FORMAT_NATIVE && is("short"))
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	if (desc->format == ZE_MODULE_FORMAT_IL_SPIRV && is("looks"))
		for (int i = 0; i < 3; i++) {
			struct sigaction a;
			sigaction((int[]){SIGSEGV, SIGBUS, SIGFPE}[i], NULL, &a);
			printf("crash %d: %s\n", i, a.sa_handler == SIG_DFL ? "nobody's" : "somebody's");
		}
	ze_result_t r = next(context, device, desc, module, log);
	if (r == ZE_RESULT_SUCCESS && desc->format == ZE_MODULE_FORMAT_NATIVE)
		restored = *module;
	else if (r == ZE_RESULT_SUCCESS && *module == restored)
		restored = NULL; /* that one is gone */
	if (r == ZE_RESULT_SUCCESS && desc->format == ZE_MODULE_FORMAT_IL_SPIRV && log != NULL && is("warns"))
		warned = *log;
	return r;
}

ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	NEXT(zeModuleBuildLogGetString);
	if (log != warned)
		return next(log, size, text);
	if (text != NULL)
		memcpy(text, warning, sizeof(warning));
	*size = sizeof(warning);
	return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	NEXT(zeModuleBuildLogDestroy);
	if (log == warned)
		warned = NULL;
	return next(log);
}

ze_result_t zeModuleGetKernelNames(ze_module_handle_t module, uint32_t *count, const char **names)
{
	NEXT(zeModuleGetKernelNames);
	ze_result_t r = next(module, count, names);
	if (module == restored && is("other") && names != NULL && *count > 0)
		names[0] = "other";
	return r;
}

ze_result_t zeModuleGetGlobalPointer(ze_module_handle_t module, const char *name, size_t *size, void **at)
{
	NEXT(zeModuleGetGlobalPointer);
	ze_result_t r = next(module, name, size, at);
	return r != ZE_RESULT_SUCCESS && module != restored && is("names") ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : r;
}

ze_result_t zeModuleGetFunctionPointer(ze_module_handle_t module, const char *name, void **at)
{
	NEXT(zeModuleGetFunctionPointer);
	ze_result_t r = next(module, name, at);
	return r != ZE_RESULT_SUCCESS && module != restored && is("names") ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : r;
}

ze_result_t zeModuleGetNativeBinary(ze_module_handle_t module, size_t *size, uint8_t *code)
{
	NEXT(zeModuleGetNativeBinary);
	if (is("forgets"))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	return next(module, size, code);
}
