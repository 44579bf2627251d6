/*
 * first.c: a first call in odd circumstances: PROGRAM PART [ARGUMENT]. Prints what became of it.
 * With -DPLUGIN it is a library whose constructor makes a first call.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void call(const char *who)
{
	kernstash_cache *cache;
	int status = kernstash_open(NULL, &cache);
	if (status == KERNSTASH_OK)
		status = kernstash_close(cache);
	printf("%s: %s\n", who, status == KERNSTASH_OK ? "cache" : kernstash_detail());
	fflush(stdout);
}

#ifdef PLUGIN

__attribute__((constructor)) static void begins(void)
{
	usleep(300000); /* the linker waits for this, and the other thread for the linker */
	call("constructor");
}

#else

static void *opens(void *plugin)
{
	CHECK(dlopen(plugin, RTLD_NOW) != NULL);
	return NULL;
}

static void *late(void *unused)
{
	usleep(200000); /* the main thread has ended */
	call("thread");
	return unused;
}

static __thread char large[200000];

static volatile int stop;

static void *links(void *plugin)
{
	while (!stop) {
		void *at = dlopen(plugin, RTLD_NOW);
		if (at != NULL)
			dlclose(at);
	}
	return NULL;
}

int main(int n, char **arguments)
{
	const char *part = n > 1 ? arguments[1] : "";
	char *argument = n > 2 ? arguments[2] : "";
	pthread_t t;
	int status;

	if (strcmp(part, "constructor") == 0) {
		CHECK(pthread_create(&t, NULL, opens, argument) == 0);
		usleep(100000);
		call("main");
		CHECK(pthread_join(t, NULL) == 0);
	} else if (strcmp(part, "main ends") == 0) {
		CHECK(pthread_create(&t, NULL, late, NULL) == 0);
		pthread_exit(NULL);
	} else if (strcmp(part, "thread-local") == 0) {
		large[n] = 1;
		call("main");
	} else if (strcmp(part, "vfork") == 0) {
		pid_t child = vfork();
		if (child == 0) {
			kernstash_cache *cache;
			_exit(kernstash_open(NULL, &cache) == KERNSTASH_UNAVAILABLE ? 0 : 1);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		call("parent");
	} else if (strcmp(part, "elsewhere") == 0) {
		CHECK(chdir(argument) == 0);
		call("main");
	} else if (strcmp(part, "linking") == 0) { /* children of a process with a thread in the linker */
		CHECK(pthread_create(&t, NULL, links, argument) == 0);
		for (int i = 0; i < 40; i++) {
			pid_t child = fork();
			if (child == 0) {
				kernstash_cache *cache;
				alarm(60);
				_exit(kernstash_open(NULL, &cache) == KERNSTASH_UNAVAILABLE ? 0 : 1);
			}
			CHECK(waitpid(child, &status, 0) == child && status == 0);
		}
		stop = 1;
		CHECK(pthread_join(t, NULL) == 0);
		call("parent");
	}
	return 0;
}

#endif
