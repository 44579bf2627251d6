/* frameworks.c: switches on the own cache of JAX, as the whole command does (cmd/kernstash/internal/frameworks has the
 * rules, and the reasons), where all is as usual: a GPU, one process, and a directory that the whole command has made. */
#include "frameworks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char cache[PATH_MAX]; /* JAX's; empty: there is nothing to switch on */

static bool ours(const char *path, mode_t others)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & others) == 0;
}

bool frameworks_special(void)
{
	static const char *const matters[] = {"JAX_", "SLURM_", "OMPI_", "PMI_", "MV2_", "WORLD_SIZE=", "JOB_COMPLETION_INDEX="};
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	static char root[PATH_MAX - 64], file[PATH_MAX]; /* the stack may be a small one */
	struct stat trimmed;
	struct statvfs fs;
	*cache = 0;
	if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/kfd", F_OK) != 0 && access("/dev/dxg", F_OK) != 0)
		return false;
	bool is_xdg = xdg != NULL && *xdg == '/', is_home = home != NULL && *home == '/';
	int n = snprintf(root, sizeof(root), "%s%s/kernstash", is_xdg ? xdg : is_home ? home : "", is_xdg ? "" : "/.cache");
	if ((!is_xdg && !is_home) || n >= (int)sizeof(root))
		return false;
	for (char **v = environ; *v != NULL; v++) {
		const char *seen = strstr(*v, "_VISIBLE_DEVICES="); /* "" and -1: none */
		if (seen != NULL && (seen[17] == 0 || seen[17] == '-'))
			return true;
		for (size_t i = 0; i < sizeof(matters) / sizeof(*matters); i++)
			if (strncmp(*v, matters[i], strlen(matters[i])) == 0)
				return true;
	}
	const long long day = 24 * 60 * 60, room = 64 << 20;
	snprintf(file, sizeof(file), "%s/.meta/frameworks/trimmed", root);
	snprintf(cache, sizeof(cache), "%s/.meta/frameworks/jax", root);
	if (ours(root, 022) && ours(cache, 077) && access(cache, W_OK | X_OK) == 0 && lstat(file, &trimmed) == 0 &&
		llabs((long long)time(NULL) - (long long)trimmed.st_mtime) < day &&
		statvfs(cache, &fs) == 0 && (long long)fs.f_bavail * (long long)fs.f_frsize >= room)
		return false;
	*cache = 0;
	return true;
}

bool frameworks_enter(void)
{
	return *cache != 0 && setenv("JAX_COMPILATION_CACHE_DIR", cache, 1) == 0 &&
		setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0", 1) == 0 &&
		setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1", 1) == 0 &&
		setenv("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none", 1) == 0;
}
