/*
 * processors.c: prints on which processors each thread of a process that has opened the
 * library may run, once for all that are alike.
 */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernstash.h"

int main(void)
{
	char known[1024] = "";
	kernstash_cache *cache = NULL;
	if (kernstash_open(NULL, &cache) != KERNSTASH_OK)
		return 1;
	usleep(200000);
	DIR *all = opendir("/proc/self/task");
	int threads = 0;
	for (struct dirent *d; (d = readdir(all)) != NULL;) {
		char path[512], line[1024];
		snprintf(path, sizeof path, "/proc/self/task/%s/status", d->d_name);
		FILE *f = d->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f != NULL && fgets(line, sizeof line, f) != NULL) {
			if (strncmp(line, "Cpus_allowed_list:", 18) != 0)
				continue;
			threads++;
			if (strcmp(line, known) != 0)
				printf("%s", line);
			strcpy(known, line);
		}
		if (f != NULL)
			fclose(f);
	}
	closedir(all);
	if (threads < 3)
		printf("%d threads\n", threads);
	return kernstash_close(cache) == KERNSTASH_OK ? 0 : 1;
}
