/*
 * exec.c: compilers that are programs are started as `kernstash compile -- COMPILER ARG…`, which runs them with
 * the cache, where KERNSTASH_COMMAND says which command that is.
 *
 * What is here may run in a child of vfork: it allocates nothing, takes no lock and writes to no memory but its
 * stack. glibc's own callers of these functions (system, popen) are not led here; the shell that they start is.
 */
#include "../../library/library.h"
#include "../compilers.h"
#include "../preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int exec_fn(const char *, char *const *, char *const *);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *);
static exec_fn *real_exec[2]; /* the second searches PATH */
static spawn_fn *real_spawn[2];

/* Before the program begins, as a child of vfork should look nothing up; libraries may begin before us. */
__attribute__((constructor)) static void find_real(void)
{
	static const char *const exec[] = {"execve", "execvpe"}, *const spawn[] = {"posix_spawn", "posix_spawnp"};
	for (int i = 0; i < 2; i++) {
		*(void **)&real_exec[i] = preload_find(RTLD_NEXT, exec[i]);
		*(void **)&real_spawn[i] = preload_find(RTLD_NEXT, spawn[i]);
	}
}

static const char *variable(char *const *env, const char *name)
{
	size_t n = strlen(name);
	for (; env != NULL && *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* Whether a program may be executed, in a directory of n bytes; path gets where. */
static bool is_there(char path[static PATH_MAX], const char *directory, size_t n, const char *file)
{
	size_t size = strlen(file) + 1;
	if (n + size >= PATH_MAX)
		return false;
	memcpy(path, directory, n);
	if (n > 0)
		path[n++] = '/';
	memcpy(path + n, file, size);
	return access(path, X_OK) == 0;
}

/* Finds a program as execvp(3) does. */
static bool is_in(char path[static PATH_MAX], const char *directories, const char *file)
{
	for (const char *in = directories; in != NULL; in = *in == ':' ? in + 1 : NULL) {
		size_t n = strcspn(in, ":");
		if (is_there(path, n > 0 ? in : ".", n > 0 ? n : 1, file))
			return true;
		in += n;
	}
	return false;
}

/* A script may start any compiler, and is none; of a directory the real function knows what to make. Calls of the kernel
 * are no place to be cancelled at, as starting a program is none. */
static bool is_elf(const char *path)
{
	char magic[4];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && syscall(SYS_read, fd, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", sizeof magic) == 0;
	if (fd >= 0)
		syscall(SYS_close, fd);
	return is;
}

/* Whether two paths are the same but for slashes that stand twice. */
static bool same(const char *a, const char *b)
{
	for (; *a == *b && *a != 0; a++, b++) {
		while (a[0] == '/' && a[1] == '/')
			a++;
		while (b[0] == '/' && b[1] == '/')
			b++;
	}
	return *a == *b;
}

/* The command that a program is to be started through, and where the program is, for which it need not be looked for
 * again. NULL: it is no compiler, or not there, for which the real function has an error; or its first argument leads
 * elsewhere: messages begin with that, and nvcc looks for its parts beside what PATH has for it. */
static const char *command_for(const char *file, const char *name, bool search, char *const *env, char path[static PATH_MAX])
{
	const char *command = variable(env, "KERNSTASH_COMMAND");
	if (command == NULL || *command != '/' || access(command, X_OK) != 0)
		return NULL;
	const char *in = variable(env, "PATH"), *here = variable(environ, "PATH");
	if (strchr(name, '/') != NULL ? !same(name, file) || !is_there(path, "", 0, file) : !is_in(path, in, name))
		return NULL;
	if (search && strchr(file, '/') == NULL ? here == NULL || strcmp(base(path), file) != 0 || strcmp(in, here) != 0 : !same(path, file))
		return NULL;
	return is_elf(path) && has_room() ? command : NULL;
}

/* Starts a compiler through the command; false: the real function is to start it. Apart, as other programs may be started
 * from a stack of a page. */
__attribute__((noinline)) static bool lead(bool spawns, bool search, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const *argv, char *const *env)
{
	static char name[] = "kernstash", word[] = "compile", dashes[] = "--";
	enum { most = 4096 }; /* words: the stack may be a small one */
	char path[PATH_MAX];
	size_t n = 0;
	while (n <= most && argv[n] != NULL)
		n++;
	const char *command = n > 0 && n <= most ? command_for(file, argv[0], search, env, path) : NULL;
	if (command == NULL || (*path != '/' && actions != NULL)) /* which may change the directory */
		return false;
	char *with[n + 4];
	with[0] = name, with[1] = word, with[2] = dashes, with[3] = path;
	memcpy(with + 4, argv + 1, n * sizeof *with); /* with the NULL */
	/* Where it cannot be started, for want of room or of a process, the real function says what is the matter. */
	if (spawns)
		return real_spawn[0](pid, command, actions, attributes, with, env) == 0;
	real_exec[0](command, with, env);
	return false;
}

/* Starts a program in the place of this process, or, with spawns, beside it. */
static int start(bool spawns, bool search, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const *argv, char *const *env)
{
	int before = errno;
	if (real_exec[0] == NULL)
		find_real();
	bool led = file != NULL && argv != NULL && is_compiler(file) && lead(spawns, search, pid, file, actions, attributes, argv, env);
	errno = before;
	if (led)
		return 0;
	return spawns ? real_spawn[search](pid, file, actions, attributes, argv, env) : real_exec[search](file, argv, env);
}

static int execute(const char *file, bool search, char *const *argv, char *const *env)
{
	return start(false, search, NULL, file, NULL, NULL, argv, env);
}

EXPORT int execve(const char *path, char *const argv[], char *const env[]) { return execute(path, false, argv, env); }
EXPORT int execv(const char *path, char *const argv[]) { return execute(path, false, argv, environ); }
EXPORT int execvp(const char *file, char *const argv[]) { return execute(file, true, argv, environ); }
EXPORT int execvpe(const char *file, char *const argv[], char *const env[]) { return execute(file, true, argv, env); }

/* A function whose words are its arguments; env is what follows them, or environ. */
#define VARIADIC(function, search, env) \
	EXPORT int function(const char *file, const char *first, ...) \
	{ \
		va_list list; \
		size_t n = 1; \
		va_start(list, first); \
		while (va_arg(list, char *) != NULL) \
			n++; \
		va_end(list); \
		char *words[n + 1]; \
		words[0] = (char *)first; \
		va_start(list, first); \
		for (size_t i = 1; i <= n; i++) \
			words[i] = va_arg(list, char *); \
		char **with = env; \
		va_end(list); \
		return execute(file, search, words, with); \
	}
VARIADIC(execl, false, environ)
VARIADIC(execlp, true, environ)
VARIADIC(execle, false, va_arg(list, char **))

#define SPAWNS(function, search) \
	EXPORT int function(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *restrict actions, \
		const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const env[restrict]) \
	{ \
		return start(true, search, pid, file, actions, attributes, argv, env); \
	}
SPAWNS(posix_spawn, false)
SPAWNS(posix_spawnp, true)
