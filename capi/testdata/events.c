/*
 * events.c: threads that wait at an event (front/wait.c), with all of front in it.
 *
 *	events wake     a thread that waits goes on when it is woken, and one that comes too late at once
 *	events fork     a child that a handler makes meanwhile goes on by itself
 *	events jump     a handler leaves the wait by longjmp, and the thread waits again
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../front/front.h"

enum { EVENT = 7 };

static volatile pid_t child = -1;
static volatile sig_atomic_t handled;
static sigjmp_buf out;
static bool jumps;

static void handler(int sig)
{
	(void)sig;
	handled = 1;
	if (jumps)
		siglongjmp(out, 1);
	child = fork();
}

static void *wake(void *seconds)
{
	struct timespec t = {*(const int *)seconds, 50000000};
	nanosleep(&t, NULL);
	ks_wake(EVENT);
	return NULL;
}

/* Waits until the event is another one than seen. */
static void wait_for(uint32_t seen)
{
	while (ks_event_now(EVENT) == seen)
		ks_event_wait(EVENT, seen);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
	const struct itimerval soon = {.it_value = {0, 50000}};
	int seconds = strcmp(part, "wake") == 0 ? 0 : 1, status;
	uint32_t seen = ks_event_now(EVENT);
	pthread_t waker;
	sigset_t alarms;

	ks_wake(EVENT);
	ks_event_wait(EVENT, seen); /* comes too late */
	seen = ks_event_now(EVENT);
	sigaction(SIGALRM, &a, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	jumps = strcmp(part, "jump") == 0;
	pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* it comes to this thread */
	pthread_create(&waker, NULL, wake, &seconds);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	if (strcmp(part, "wake") != 0)
		setitimer(ITIMER_REAL, &soon, NULL);
	if (sigsetjmp(out, 1) == 0 || jumps)
		wait_for(seen);
	if (child == 0)
		_exit(0); /* long before its parent: the waker is not here */
	if (child > 0) {
		waitpid(child, &status, 0);
		printf("child %x, ", (unsigned)status);
	}
	pthread_join(waker, NULL);
	printf("woken, handled %d\n", (int)handled);
	return 0;
}
