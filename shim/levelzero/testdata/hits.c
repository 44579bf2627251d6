/*
 * hits.c: makes a module again and again, and says how long each zeModuleCreate took.
 *
 *	hits FILE.spv FLAGS ROUNDS [restore | switch]
 *
 * FLAGS "NULL" is NULL. With restore the module is made of the native code of the first. With
 * switch one with an extension is made before, under a variable that is gone by then.
 */
#include "ze_test.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;
	return (d > 0) - (d < 0);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	size_t size, n = 0;
	unsigned char *code = file(argv[1], &size), *native = NULL;
	const char *flags = strcmp(argv[2], "NULL") == 0 ? NULL : argv[2];
	int rounds = atoi(argv[3]);
	double *took = calloc((size_t)rounds + 1, sizeof(*took)), first = 0;
	start();
	ze_module_desc_t desc = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, flags);
	bool restores = argc > 4 && strcmp(argv[4], "restore") == 0;
	if (argc > 4 && !restores) {
		const uint8_t *codes[] = {code};
		ze_module_program_exp_desc_t one = {
			.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = 1, .inputSizes = &size, .pInputModules = codes};
		ze_module_desc_t extended = described(ZE_MODULE_FORMAT_IL_SPIRV, NULL, 0, NULL);
		ze_module_handle_t m;
		extended.pNext = &one;
		setenv("IGC_ForceOCLSIMDWidth", "8", 1);
		check(zeModuleCreate(context, device, &extended, &m, NULL), "zeModuleCreate");
		check(zeModuleDestroy(m), "zeModuleDestroy");
		unsetenv("IGC_ForceOCLSIMDWidth");
	}
	for (int i = 0; i <= rounds; i++) {
		ze_module_handle_t m;
		ze_module_build_log_handle_t log;
		double begun = now();
		check(zeModuleCreate(context, device, &desc, &m, &log), "zeModuleCreate");
		took[i] = now() - begun;
		if (i == 0) {
			first = took[0];
			native = native_of(m, &n);
			if (restores)
				desc = described(ZE_MODULE_FORMAT_NATIVE, native, n, flags);
		}
		zeModuleBuildLogDestroy(log);
		check(zeModuleDestroy(m), "zeModuleDestroy");
	}
	if (rounds < 2)
		rest();
	took[0] = first;
	if (rounds > 0)
		qsort(took + 1, (size_t)rounds, sizeof(*took), compare);
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	printf("\nfirst %.1f median %.1f least %.1f sum %016llx size %zu resident %ld\n", first,
		rounds > 0 ? took[1 + rounds / 2] : first, rounds > 0 ? took[1] : first, sum(native, n), n, use.ru_maxrss);
	return 0;
}
