/* starts WAY PROGRAM ARG...: starts a program in a way, and says how it ended. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *way, char **argv)
{
	const char *file = argv[0], *a = argv[1], *b = argv[2];
	if (strcmp(way, "renamed") == 0)
		return execl(file, "other", a, b, (char *)NULL);
	if (strcmp(way, "execve") == 0)
		return execve(file, argv, environ);
	if (strcmp(way, "execv") == 0)
		return execv(file, argv);
	if (strcmp(way, "execvp") == 0)
		return execvp(file, argv);
	if (strcmp(way, "execvpe") == 0)
		return execvpe(file, argv, environ);
	if (strcmp(way, "execl") == 0)
		return execl(file, file, a, b, (char *)NULL);
	if (strcmp(way, "execlp") == 0)
		return execlp(file, file, a, b, (char *)NULL);
	return execle(file, file, a, b, (char *)NULL, environ);
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
	if (strcmp(way, "system") == 0) {
		status = system(line);
	} else if (strcmp(way, "popen") == 0) {
		FILE *f = popen(line, "r");
		while (f != NULL && fgets(line, sizeof line, f) != NULL)
			fputs(line, stdout);
		status = pclose(f);
	} else if (strcmp(way, "posix_spawn") == 0 || strcmp(way, "posix_spawnp") == 0) {
		e = (way[11] == 'p' ? posix_spawnp : posix_spawn)(&pid, argv[2], NULL, NULL, argv + 2, environ);
	} else if (strcmp(way, "vfork") == 0) {
		if ((pid = vfork()) == 0) {
			execve(argv[2], argv + 2, environ);
			_exit(100 + errno);
		}
	} else if ((pid = fork()) == 0) {
		start(way, argv + 2);
		_exit(100 + errno);
	}
	if (e == 0 && pid > 0)
		waitpid(pid, &status, 0);
	printf("error %d, status %d\n", e, WEXITSTATUS(status));
	return 0;
}
