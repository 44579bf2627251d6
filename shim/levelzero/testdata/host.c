/*
 * host.c: applications of several kinds.
 *
 *	host KIND FOLDER
 *
 * fork-before: builds in a child that was forked before anything was built; fork-after:
 * in one forked after; threads: eight threads make the same modules, on small stacks;
 * opened: the loader is opened by dlopen, and its functions looked up in it; nothing:
 * builds nothing; loop-N: makes a module N times, and says what is left; tables: ends logs
 * by the loader's own table of functions.
 */
#include "ze_test.h"

#include <level_zero/ze_ddi.h>

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

static unsigned char *kernels, *spills;
static size_t nkernels, nspills;

static unsigned long long make(const unsigned char *code, size_t size, const char *flags)
{
	ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, flags);
	ze_module_handle_t m;
	ze_module_build_log_handle_t log;
	size_t n;
	check(zeModuleCreate(context, device, &d, &m, &log), "zeModuleCreate");
	unsigned char *b = native_of(m, &n);
	unsigned long long s = sum(b, n);
	free(b);
	check(zeModuleBuildLogDestroy(log), "zeModuleBuildLogDestroy");
	check(zeModuleDestroy(m), "zeModuleDestroy");
	return s;
}

static void in_child(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(240); /* one that waits for itself ends */
		printf("child %llx\n", make(kernels, nkernels, NULL));
		fflush(stdout);
		rest();
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("child ended %x\n", status);
}

static void *thread(void *argument)
{
	unsigned long long *s = argument;
	s[0] = make(kernels, nkernels, NULL);
	s[1] = make(spills, nspills, NULL);
	return NULL;
}

static void threads(void)
{
	pthread_t all[8];
	unsigned long long sums[8][2];
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 20);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&all[i], &small, thread, sums[i]) != 0)
			exit(1);
	for (int i = 0; i < 8; i++) {
		pthread_join(all[i], NULL);
		if (sums[i][0] != sums[0][0] || sums[i][1] != sums[0][1])
			printf("thread %d has others\n", i);
	}
	printf("threads %llx %llx\n", sums[0][0], sums[0][1]);
}

static int files(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

/* Logs that end by the loader's own table of functions, past whoever stands before it: what
 * the next one at the same address says is its own. */
static void tables(void)
{
	ze_module_build_log_dditable_t table;
	int wrong = 0, again = 0;
	check(zeGetModuleBuildLogProcAddrTable(ZE_API_VERSION_CURRENT, &table), "zeGetModuleBuildLogProcAddrTable");
	for (int i = 0; i < 5; i++) {
		ze_module_handle_t module, other;
		ze_module_build_log_handle_t log, next;
		size_t size, said = 0;
		ze_module_desc_t desc = described(ZE_MODULE_FORMAT_IL_SPIRV, kernels, nkernels, NULL);
		check(zeModuleCreate(context, device, &desc, &module, &log), "zeModuleCreate");
		unsigned char *native = native_of(module, &size);
		check(table.pfnDestroy(log), "pfnDestroy");
		desc = described(ZE_MODULE_FORMAT_NATIVE, native, size, NULL);
		check(zeModuleCreate(context, device, &desc, &other, &next), "zeModuleCreate");
		check(zeModuleBuildLogGetString(next, &said, NULL), "zeModuleBuildLogGetString");
		again += next == log;
		wrong += said != 1;
		zeModuleBuildLogDestroy(next);
		zeModuleDestroy(module);
		zeModuleDestroy(other);
		free(native);
	}
	printf("at the same address %d, wrong %d\n", again > 0, wrong);
}

int main(int argc, char **argv)
{
	char path[4096];
	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "%s/kernels.spv", argv[2]);
	kernels = file(path, &nkernels);
	snprintf(path, sizeof(path), "%s/spills.spv", argv[2]);
	spills = file(path, &nspills);
	int rounds;
	start();
	if (strcmp(argv[1], "fork-before") == 0) {
		in_child();
		printf("parent %llx\n", make(kernels, nkernels, NULL));
	} else if (strcmp(argv[1], "fork-after") == 0) {
		printf("parent %llx\n", make(kernels, nkernels, NULL));
		in_child();
		printf("parent %llx\n", make(spills, nspills, NULL));
	} else if (strcmp(argv[1], "threads") == 0) {
		threads();
	} else if (strcmp(argv[1], "tables") == 0) {
		tables();
	} else if (strcmp(argv[1], "variable") == 0) {
		setenv("IGC_ForceOCLSIMDWidth", "8", 1); /* nobody knows whether the driver reads it again */
		printf("%llx\n", make(kernels, nkernels, NULL));
	} else if (sscanf(argv[1], "loop-%d", &rounds) == 1) {
		for (int i = 0; i < 10; i++)
			make(kernels, nkernels, NULL);
		rest();
		struct mallinfo2 before = mallinfo2();
		int open = files();
		for (int i = 0; i < rounds; i++)
			make(kernels, nkernels, NULL);
		rest();
		struct mallinfo2 after = mallinfo2();
		printf("bytes %ld files %d\n", (long)(after.uordblks + after.hblkhd) - (long)(before.uordblks + before.hblkhd), files() - open);
	}
	if (strcmp(argv[1], "nothing") != 0)
		rest();
	return 0;
}
