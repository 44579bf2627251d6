/* load.c: what a process that is linked with the library pays before its first call, and what becomes of
 * that call. */
#include "check.h"

#include <dirent.h>

static int threads(void)
{
	DIR *all = opendir("/proc/self/task");
	int n = 0;
	CHECK(all != NULL);
	for (struct dirent *d; (d = readdir(all)) != NULL;)
		n += d->d_name[0] != '.';
	closedir(all);
	return n;
}

int main(void)
{
	kernstash_cache *cache;
	int before = threads(), status;

	CHECK(*kernstash_version() != '\0' && *kernstash_strerror(0) != '\0');
	CHECK(kernstash_close(NULL) == KERNSTASH_OK);
	printf("threads %d\n", before);
	status = kernstash_open(NULL, &cache);
	printf("%s, %s\n", status == KERNSTASH_OK ? "open" : kernstash_detail(), threads() > 1 ? "threads" : "no threads");
	if (status == KERNSTASH_OK)
		OK(kernstash_close(cache));
	else
		IS(KERNSTASH_UNAVAILABLE, status);
	return 0;
}
