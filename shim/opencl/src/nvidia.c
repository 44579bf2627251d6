/*
 * nvidia.c: what NVIDIA's driver needs that other drivers do not.
 *
 * It opens its compiler, 78 MB, at the first program of a process, also where nothing is
 * left to compile: 2 ms. As long the first program waits for the library's runtime, so
 * another thread opens the compiler meanwhile.
 */
#include "shim.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char driver_name[] = "libnvidia-opencl.so.", compiler[] = "libnvidia-nvvm.so.4";

/* What a thread of the application's has, most of which is never touched. */
enum { STACK = 8 << 20 };

static _Thread_local struct {
	bool wanted, runs;
	pthread_t thread;
	pid_t process; /* a child has no such thread */
} opening;

/* Whether it is the driver, and opens libraries as we do: it has no path of its own to look
 * for them, so by that name it gets what we get. */
static int opens_as_we_do(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *path = info->dlpi_name, *slash = path == NULL ? NULL : strrchr(path, '/');
	(void)size, (void)unused;
	if (slash == NULL || strncmp(slash + 1, driver_name, sizeof(driver_name) - 1) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_DYNAMIC)
			continue;
		for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr); d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH)
				return 0;
	}
	return 1;
}

/* As the driver opens it (535.309.01, by its code), so that it is bound to the same; where
 * it does not open, nothing has happened. It stays open, as the driver's does. */
static void *open_compiler(void *unused)
{
	if (dl_iterate_phdr(opens_as_we_do, NULL) != 0)
		dlopen(compiler, RTLD_NOW | RTLD_LOCAL);
	return unused;
}

void compiler_wanted(cl_device_id device)
{
	opening.wanted = !library_is_open() && platform_is(device, "NVIDIA CUDA");
}

void compiler_open(void)
{
	pthread_attr_t attributes;
	sigset_t all, own;
	if (!opening.wanted || opening.runs || pthread_attr_init(&attributes) != 0)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &own);
	opening.process = getpid();
	opening.runs = pthread_attr_setstacksize(&attributes, STACK) == 0 &&
		pthread_create(&opening.thread, &attributes, open_compiler, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &own, NULL);
	pthread_attr_destroy(&attributes);
}

void compiler_opened(void)
{
	if (opening.runs && opening.process == getpid())
		pthread_join(opening.thread, NULL);
	opening.wanted = opening.runs = false;
}
