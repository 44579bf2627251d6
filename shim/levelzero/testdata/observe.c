/*
 * observe.c: tells all that an application can see of modules, to be compared with and
 * without what stands before the driver.
 *
 *	observe FOLDER PART,...
 *
 * FOLDER holds the modules. The parts are those of the table at the end.
 */
#include "ze_test.h"

#include <level_zero/zet_api.h>

static const char *folder;

static void path_of(char *to, size_t size, const char *name) { snprintf(to, size, "%s/%s.spv", folder, name); }

static unsigned char *spirv(const char *name, size_t *size)
{
	char path[4096];
	path_of(path, sizeof(path), name);
	return file(path, size);
}

static void say_log(const char *what, ze_module_build_log_handle_t log)
{
	size_t n = 0;
	if (log == NULL) {
		printf("  %s: none\n", what);
		return;
	}
	ze_result_t r = zeModuleBuildLogGetString(log, &n, NULL);
	char *text = calloc(1, n + 16), start[4] = "###";
	size_t room = n, few = 2;
	ze_result_t r2 = zeModuleBuildLogGetString(log, &room, text);
	printf("  %s: %x %x size %zu %zu '%s'\n", what, r, r2, n, room, text);
	if (n > 2) { /* too little room: the drivers write what fits, and a NUL at the end of all */
		char *whole = calloc(1, n + 16);
		memcpy(whole, start, sizeof(start));
		few = n;
		r = zeModuleBuildLogGetString(log, &few, whole);
		printf("  again: %x %zu '%s'\n", r, few, whole);
		free(whole);
	}
	free(text);
	printf("  destroyed: %x\n", zeModuleBuildLogDestroy(log));
}

static void say_kernel(ze_module_handle_t m, const char *name)
{
	ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
	ze_kernel_handle_t k = NULL;
	ze_result_t r = zeKernelCreate(m, &desc, &k);
	printf("  kernel %s: %x\n", name, r);
	if (r != ZE_RESULT_SUCCESS)
		return;
	ze_kernel_preferred_group_size_properties_t preferred = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES};
	ze_kernel_properties_t p = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, .pNext = &preferred};
	r = zeKernelGetProperties(k, &p);
	printf("    %x args %u required %u %u %u sub-groups %u %u %u %u local %u private %u spill %u preferred %u uuid %llx\n", r,
		p.numKernelArgs, p.requiredGroupSizeX, p.requiredGroupSizeY, p.requiredGroupSizeZ, p.requiredNumSubGroups,
		p.requiredSubgroupSize, p.maxSubgroupSize, p.maxNumSubgroups, p.localMemSize, p.privateMemSize, p.spillMemSize,
		preferred.preferredMultiple, sum(&p.uuid, sizeof(p.uuid)));
	uint32_t n = 0, x = 0, y = 0, z = 0, groups = 0;
	r = zeKernelGetSourceAttributes(k, &n, NULL);
	char *text = calloc(1, n + 1);
	if (n > 0)
		zeKernelGetSourceAttributes(k, &n, &text);
	printf("    attributes %x %u '%s'\n", r, n, text);
	size_t length = 0;
	r = zeKernelGetName(k, &length, NULL);
	char *own = calloc(1, length + 1);
	zeKernelGetName(k, &length, own);
	printf("    name %x %zu '%s'\n", r, length, own);
	ze_kernel_indirect_access_flags_t flags = 0;
	r = zeKernelGetIndirectAccess(k, &flags);
	printf("    indirect %x %x\n", r, flags);
	r = zeKernelSuggestGroupSize(k, 1000, 6, 1, &x, &y, &z);
	printf("    suggested %x %u %u %u\n", r, x, y, z);
	printf("    group sizes %x %x %x\n", zeKernelSetGroupSize(k, 0, 1, 1), zeKernelSetGroupSize(k, 8, 1, 1), zeKernelSetGroupSize(k, 16, 2, 1));
	r = zeKernelSuggestMaxCooperativeGroupCount(k, &groups);
	printf("    cooperative %x %u\n", r, groups);
	for (uint32_t i = 0; i <= p.numKernelArgs && strcmp(name, "g") != 0; i++) { /* no image is at any address */
		int value = 3;
		printf("    argument %u: %x %x %x\n", i, zeKernelSetArgumentValue(k, i, sizeof(value), &value),
			zeKernelSetArgumentValue(k, i, 8, NULL), zeKernelSetArgumentValue(k, i, 64, NULL));
	}
	printf("    destroyed %x\n", zeKernelDestroy(k));
	free(text);
	free(own);
}

enum { SUM = 1, KEEP = 2 };

static void say_module(ze_module_handle_t m, int how)
{
	uint32_t n = 0;
	ze_result_t r = zeModuleGetKernelNames(m, &n, NULL);
	const char **names = calloc(n + 1, sizeof(*names));
	zeModuleGetKernelNames(m, &n, names);
	printf("  kernels %x %u:", r, n);
	for (uint32_t i = 0; i < n; i++)
		printf(" %s", names[i]);
	ze_module_properties_t p = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES};
	r = zeModuleGetProperties(m, &p);
	printf("\n  properties %x %x\n", r, p.flags);
	size_t size = 0;
	r = zeModuleGetNativeBinary(m, &size, NULL);
	unsigned char *native = calloc(1, size + 1);
	ze_result_t r2 = zeModuleGetNativeBinary(m, &size, native);
	printf("  native %x %x %zu %llx\n", r, r2, size, how & SUM ? sum(native, size) : 0);
	free(native);
	size = 0;
	r = zetModuleGetDebugInfo(m, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &size, NULL);
	printf("  debug information %x %zu\n", r, size);
	for (uint32_t i = 0; i < n; i++)
		say_kernel(m, names[i]);
	say_kernel(m, "none");
	static const char *const globals[] = {"counter", "none"};
	for (int i = 0; i < 2; i++) {
		void *at = NULL;
		size = 0;
		r = zeModuleGetGlobalPointer(m, globals[i], &size, &at);
		printf("  global %s: %x %zu %d\n", globals[i], r, size, at != NULL);
	}
	static const char *const functions[] = {"helper", "add", "times", "none"};
	for (int i = 0; i < 4; i++) {
		void *at = NULL;
		r = zeModuleGetFunctionPointer(m, functions[i], &at);
		printf("  function %s: %x %d\n", functions[i], r, at != NULL);
	}
	free(names);
}

/* Makes a module, says all of it, and returns it with KEEP. */
static ze_module_handle_t make(const char *what, const ze_module_desc_t *desc, int with_log, int how)
{
	ze_module_handle_t m = NULL;
	ze_module_build_log_handle_t log = NULL;
	ze_result_t r = zeModuleCreate(context, device, desc, &m, with_log ? &log : NULL);
	printf("%s: %x\n", what, r);
	if (with_log)
		say_log("log", log);
	if (r != ZE_RESULT_SUCCESS)
		return NULL;
	say_module(m, how);
	if (how & KEEP)
		return m;
	printf("  destroyed %x\n", zeModuleDestroy(m));
	return NULL;
}

static void of_file(const char *name, const char *flags, int how)
{
	size_t size;
	char what[256];
	unsigned char *code = spirv(name, &size);
	ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, flags);
	snprintf(what, sizeof(what), "%s, %s", name, flags == NULL ? "NULL" : flags);
	make(what, &d, 1, how);
	make(what, &d, 0, how); /* and again, without a log */
	free(code);
}

static void modules(void)
{
	of_file("kernels", NULL, SUM);
	of_file("kernels", "", SUM);
	of_file("kernels", "-ze-opt-disable", 0); /* a symbol table, which differs from one process to the next */
	of_file("kernels", "-ze-opt-level=2 -ze-opt-greater-than-4GB-buffer-required", SUM);
	of_file("kernels", "-ze-opt-large-register-file", SUM);
	of_file("kernels", "-g", 0);
	of_file("kernels", "-ze-take-global-address", 0);
	of_file("kernels", "-nonsense", SUM);
	of_file("spills", NULL, SUM);
	of_file("exports", "-library-compilation", 0);
	of_file("imports", NULL, 0);
}

static void images(void) { of_file("images", NULL, SUM); }

static void constants(void)
{
	size_t size;
	unsigned char *code = spirv("scale", &size);
	uint32_t ids[2] = {7, 9}, unknown = 8, five = 5, six = 6;
	unsigned char yes = 1;
	const void *values[2] = {&five, &yes}, *others[2] = {&six, &yes};
	struct {
		const char *what;
		ze_module_constants_t c;
	} all[] = {
		{"none", {0, NULL, NULL}}, {"five", {1, ids, values}}, {"five and odd", {2, ids, values}},
		{"six", {1, ids, others}}, {"unknown", {1, &unknown, values}},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, NULL);
		d.pConstants = &all[i].c;
		make(all[i].what, &d, 1, SUM);
	}
	free(code);
}

/* One after the other is linked, and then its kernels can be had. */
static void links(void)
{
	size_t n1, n2;
	unsigned char *a = spirv("imports", &n1), *b = spirv("exports", &n2);
	ze_module_desc_t d1 = described(ZE_MODULE_FORMAT_IL_SPIRV, a, n1, NULL);
	ze_module_desc_t d2 = described(ZE_MODULE_FORMAT_IL_SPIRV, b, n2, "-library-compilation");
	for (int i = 0; i < 2; i++) {
		ze_module_handle_t m[2] = {make("imports", &d1, 1, KEEP), make("exports", &d2, 1, KEEP)};
		ze_module_build_log_handle_t log = NULL;
		printf("link of one: %x\n", zeModuleDynamicLink(1, m, &log));
		say_log("link log", log);
		log = NULL;
		printf("link: %x\n", zeModuleDynamicLink(2, m, &log));
		say_log("link log", log);
		printf("again: %x\n", zeModuleDynamicLink(2, m, NULL));
		say_module(m[0], 0);
		say_module(m[1], 0);
		printf("destroyed %x %x\n", zeModuleDestroy(m[0]), zeModuleDestroy(m[1]));
	}
	free(a);
	free(b);
}

/* Several modules of SPIR-V become one. */
static void several(void)
{
	size_t sizes[2], turned[2];
	const uint8_t *codes[2] = {spirv("imports", &sizes[0]), spirv("exports", &sizes[1])}, *other[2] = {codes[1], codes[0]};
	const char *same[2] = {"-ze-opt-disable", "-ze-opt-disable"}, *different[2] = {"-ze-opt-disable", NULL};
	uint32_t id = 7, five = 5;
	const void *values[1] = {&five};
	ze_module_constants_t c = {1, &id, values};
	const ze_module_constants_t *each[2] = {NULL, &c};
	turned[0] = sizes[1];
	turned[1] = sizes[0];
	struct {
		const char *what;
		ze_module_program_exp_desc_t p;
	} all[] = {
		{"two", {.count = 2, .inputSizes = sizes, .pInputModules = codes}},
		{"two the other way", {.count = 2, .inputSizes = turned, .pInputModules = other}},
		{"two with flags", {.count = 2, .inputSizes = sizes, .pInputModules = codes, .pBuildFlags = same}},
		{"two with different flags", {.count = 2, .inputSizes = sizes, .pInputModules = codes, .pBuildFlags = different}},
		{"two with constants", {.count = 2, .inputSizes = sizes, .pInputModules = codes, .pConstants = each}},
		{"one", {.count = 1, .inputSizes = turned, .pInputModules = other}},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, NULL, 0, NULL);
		all[i].p.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC;
		d.pNext = &all[i].p;
		make(all[i].what, &d, 1, 0);
	}
	free((void *)codes[0]);
	free((void *)codes[1]);
}

/* What the driver refuses. */
static void wrong(void)
{
	size_t size;
	unsigned char *code = spirv("kernels", &size), *broken = malloc(size);
	ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, broken, size, NULL);
	memcpy(broken, code, size);
	for (size_t at = 20; at + 4 <= size;) { /* the first function is of another instruction */
		uint32_t w;
		memcpy(&w, broken + at, 4);
		if ((w & 0xffff) == 54) {
			w = (w & 0xffff0000) | 999;
			memcpy(broken + at, &w, 4);
			break;
		}
		at += 4 * (size_t)(w >> 16);
	}
	make("broken", &d, 1, 0);
	make("broken again", &d, 1, 0);
	make("broken, no log", &d, 0, 0);
	d = described(ZE_MODULE_FORMAT_NATIVE, (const unsigned char *)"nonsense", 8, NULL);
	make("native nonsense", &d, 1, 0);
	d = described((ze_module_format_t)7, code, size, NULL);
	make("a format that there is not", &d, 1, 0);
	d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, 20, NULL);
	make("a header alone", &d, 1, 0);
	ze_base_desc_t extension = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC};
	d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, NULL);
	d.pNext = &extension;
	make("an extension", &d, 1, 0);
	free(code);
	free(broken);
}

/* Native code that the application keeps itself. */
static void native(void)
{
	size_t size, n;
	unsigned char *code = spirv("kernels", &size);
	ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, NULL);
	ze_module_handle_t m = make("kernels", &d, 1, SUM | KEEP);
	unsigned char *own = native_of(m, &n);
	d = described(ZE_MODULE_FORMAT_NATIVE, own, n, NULL);
	make("its native code", &d, 1, SUM);
	zeModuleDestroy(m);
	free(code);
	free(own);
}

/* A launch, which the driver without hardware says it has executed. */
static void launch(void)
{
	size_t size;
	unsigned char *code = spirv("kernels", &size);
	ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, NULL);
	ze_module_handle_t m;
	ze_kernel_handle_t k;
	ze_command_queue_handle_t q;
	ze_command_list_handle_t l;
	ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_desc_t list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_device_mem_alloc_desc_t memory = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	ze_kernel_desc_t kernel = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "add"};
	void *at[3];
	int n = 100;
	ze_group_count_t groups = {4, 1, 1};
	check(zeModuleCreate(context, device, &d, &m, NULL), "zeModuleCreate");
	check(zeKernelCreate(m, &kernel, &k), "zeKernelCreate");
	check(zeCommandQueueCreate(context, device, &queue, &q), "zeCommandQueueCreate");
	check(zeCommandListCreate(context, device, &list, &l), "zeCommandListCreate");
	for (uint32_t i = 0; i < 3; i++) {
		check(zeMemAllocDevice(context, &memory, 4096, 0, device, &at[i]), "zeMemAllocDevice");
		printf("argument %x\n", zeKernelSetArgumentValue(k, i, sizeof(at[i]), &at[i]));
	}
	printf("argument %x\n", zeKernelSetArgumentValue(k, 3, sizeof(n), &n));
	printf("group %x\n", zeKernelSetGroupSize(k, 32, 1, 1));
	printf("launch %x\n", zeCommandListAppendLaunchKernel(l, k, &groups, NULL, 0, NULL));
	printf("close %x\n", zeCommandListClose(l));
	printf("execute %x\n", zeCommandQueueExecuteCommandLists(q, 1, &l, NULL));
	printf("finish %x\n", zeCommandQueueSynchronize(q, UINT64_MAX));
	for (int i = 0; i < 3; i++)
		zeMemFree(context, at[i]);
	printf("destroyed %x %x %x %x\n", zeCommandListDestroy(l), zeCommandQueueDestroy(q), zeKernelDestroy(k), zeModuleDestroy(m));
	free(code);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{"modules", modules}, {"images", images}, {"constants", constants}, {"links", links}, {"several", several},
		{"wrong", wrong}, {"native", native}, {"launch", launch},
	};
	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0); /* a driver may crash */
	folder = argv[1];
	start();
	for (char *name = strtok(argv[2], ","); name != NULL; name = strtok(NULL, ","))
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (strcmp(parts[i].name, name) == 0) {
				printf("\n-- %s\n", name);
				parts[i].run();
			}
	printf("context destroyed %x\n", zeContextDestroy(context));
	rest();
	return 0;
}
