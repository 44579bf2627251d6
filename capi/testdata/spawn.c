/* Starts "sh -c script" detached and says what the host noticed of it. */
#define _GNU_SOURCE
#include "../start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void on_child(int sig)
{
	(void)sig;
	told++;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	char *args[] = {"sh", "-c", argv[1], NULL};
	char *env[] = {"ONLY=this", NULL};
	struct sigaction act = {.sa_handler = on_child};
	char *ballast;
	double began;
	int rc, missing;
	sigset_t blocked;

	if (argc < 2)
		return 2;
	sigaction(SIGCHLD, &act, NULL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	open("/dev/zero", O_RDONLY);         /* a descriptor that would be inherited */
	ballast = malloc(256 << 20);
	memset(ballast, 1, 256 << 20);       /* a large host is not copied */

	errno = 7;
	began = now();
	rc = ks_spawn_detached("/bin/sh", args, env);
	printf("took %.3f\n", now() - began);
	missing = ks_spawn_detached("/no/such/program", args, env);
	printf("rc %d errno %d missing %d\n", rc, errno, missing == ENOENT);
	usleep(300 * 1000); /* it ends meanwhile */
	errno = 0;
	rc = waitpid(-1, NULL, WNOHANG);
	printf("wait %d %s told %d\n", rc, errno == ECHILD ? "ECHILD" : strerror(errno), (int)told);
	errno = 0;
	rc = waitpid(-1, NULL, WNOHANG | __WALL);
	printf("all %d %s\n", rc, errno == ECHILD ? "ECHILD" : strerror(errno));
	free(ballast);
	return 0;
}
