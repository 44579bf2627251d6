/* starts WAY PROGRAM ARG...: starts a program in a way, and says how it ended. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int is(const char *way, const char *name) { return strcmp(way, name) == 0; }

static int start(const char *way, char **argv)
{
	const char *file = argv[0], *a = argv[1], *b = argv[2];
	if (is(way, "renamed"))
		return execl(file, "other", a, b, (char *)NULL);
	if (is(way, "short name")) { /* as shells do */
		argv[0] = strrchr(file, '/') + 1;
		return execve(file, argv, environ);
	}
	if (is(way, "elsewhere")) { /* the name leads to another one */
		argv[0] = strrchr(file, '/') + 1;
		setenv("PATH", "/nonexistent", 1);
		return execve(file, argv, environ);
	}
	if (is(way, "another PATH")) { /* the child's: the program is looked for in ours */
		char *const env[] = {"PATH=/nonexistent", getenv("KERNSTASH_COMMAND") - strlen("KERNSTASH_COMMAND="), NULL};
		return execvpe(file, argv, env);
	}
	if (is(way, "no environment"))
		return execve(file, argv, NULL);
	if (is(way, "fexecve"))
		return fexecve(open(file, O_RDONLY | O_CLOEXEC), argv, environ);
	if (is(way, "execveat"))
		return execveat(AT_FDCWD, file, argv, environ, 0);
	if (is(way, "execve"))
		return execve(file, argv, environ);
	if (is(way, "execv"))
		return execv(file, argv);
	if (is(way, "execvp"))
		return execvp(file, argv);
	if (is(way, "execvpe"))
		return execvpe(file, argv, environ);
	if (is(way, "execl"))
		return execl(file, file, a, b, (char *)NULL);
	if (is(way, "execlp"))
		return execlp(file, file, a, b, (char *)NULL);
	return execle(file, file, a, b, (char *)NULL, environ);
}

static pid_t by_vfork(char **argv)
{
	pid_t pid = vfork();
	if (pid == 0) {
		execve(argv[0], argv, environ);
		_exit(100 + errno);
	}
	return pid;
}

static int begin(void *argument)
{
	char **argv = argument;
	execve(argv[0], argv, environ);
	_exit(100 + errno);
}

/* From a stack of one page, below which there is nothing. */
static pid_t by_clone(char **argv)
{
	enum { page = 4096 };
	char *stack = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(stack + page, page, PROT_READ | PROT_WRITE);
	return clone(begin, stack + 2 * page, CLONE_VM | CLONE_VFORK | SIGCHLD, argv);
}

/* In a thread that is to be cancelled, which starting a program does not look at. */
static void *cancelled(void *argument)
{
	char **argv = argument;
	pid_t pid = -1;
	pthread_cancel(pthread_self());
	posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
	return (void *)(long)pid;
}

/* A program with this many words, from a thread with a small stack. */
static void *many(void *argument)
{
	char **argv = argument, **words = malloc(100002 * sizeof *words);
	pid_t pid = vfork();
	if (pid == 0) {
		int n = atoi(argv[1]);
		words[0] = argv[0];
		for (int i = 1; i < n; i++)
			words[i] = "x";
		words[n] = NULL;
		execv(argv[0], words);
		_exit(100 + errno);
	}
	return (void *)(long)pid;
}

/* The longest argument that a program can be started with. */
static size_t longest(int spawns, char **argv)
{
	size_t least = 0, most = 131072;
	while (least + 1 < most) {
		size_t n = (least + most) / 2;
		char *text = calloc(n + 1, 1), *words[] = {argv[0], text, NULL};
		int status = 0, e = 0;
		pid_t pid = -1;
		posix_spawn_file_actions_t actions;
		memset(text, 'x', n);
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
		if (spawns) {
			e = posix_spawn(&pid, argv[0], &actions, NULL, words, environ);
		} else if ((pid = fork()) == 0) {
			close(1);
			execv(argv[0], words);
			_exit(100 + errno);
		}
		if (pid > 0)
			waitpid(pid, &status, 0);
		if (e == 0 && WEXITSTATUS(status) == 7)
			least = n;
		else
			most = n;
		free(text);
	}
	return least;
}

int main(int argc, char **argv)
{
	const char *way = argv[1];
	char line[4096];
	int status = 0, e = 0;
	pid_t pid = -1;
	if (argc != 5)
		return 2;
	snprintf(line, sizeof line, "%s %s %s", argv[2], argv[3], argv[4]);
	fflush(stdout);
	if (is(way, "system")) {
		status = system(line);
	} else if (is(way, "popen")) {
		FILE *f = popen(line, "r");
		while (f != NULL && fgets(line, sizeof line, f) != NULL)
			fputs(line, stdout);
		status = pclose(f);
	} else if (is(way, "posix_spawn") || is(way, "posix_spawnp")) {
		e = (way[11] == 'p' ? posix_spawnp : posix_spawn)(&pid, argv[2], NULL, NULL, argv + 2, environ);
	} else if (is(way, "elsewhere, by posix_spawn")) { /* a relative path is one of that directory */
		posix_spawn_file_actions_t actions;
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_addchdir_np(&actions, "there");
		e = posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ);
	} else if (is(way, "many")) {
		pthread_t thread;
		pthread_attr_t small;
		void *result = NULL;
		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 128 << 10);
		pthread_create(&thread, &small, many, argv + 2);
		pthread_join(thread, &result);
		pid = (pid_t)(long)result;
	} else if (is(way, "longest")) {
		struct rlimit stack = {512 << 10, 512 << 10}; /* a quarter is for arguments and environment */
		size_t with[2], without[2];
		setrlimit(RLIMIT_STACK, &stack);
		for (int i = 0; i < 2; i++)
			with[i] = longest(i, argv + 2);
		char *command = getenv("KERNSTASH_COMMAND");
		command[-2] = 'X'; /* as long as before */
		for (int i = 0; i < 2; i++)
			without[i] = longest(i, argv + 2);
		printf("%d %d %d\n", with[0] == without[0], with[1] == without[1], with[0] > 1000);
	} else if (is(way, "vfork")) {
		pid = by_vfork(argv + 2);
	} else if (is(way, "clone")) {
		pid = by_clone(argv + 2);
	} else if (is(way, "cancelled")) {
		pthread_t thread;
		void *result = NULL;
		pthread_create(&thread, NULL, cancelled, argv + 2);
		pthread_join(thread, &result);
		pid = (pid_t)(long)result;
	} else if ((pid = fork()) == 0) {
		start(way, argv + 2);
		_exit(100 + errno);
	}
	if (e == 0 && pid > 0)
		waitpid(pid, &status, 0);
	printf("error %d, status %d\n", e, WEXITSTATUS(status));
	return 0;
}
