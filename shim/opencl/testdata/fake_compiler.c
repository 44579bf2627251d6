/*
 * fake_compiler.c: a library that says who opened it: the thread, and whether a signal of
 * the application's could come to it there.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void opened(void)
{
	sigset_t held;
	sigprocmask(SIG_SETMASK, NULL, &held);
	fprintf(stderr, "compiler: opened by %s thread, signals %s\n", gettid() == getpid() ? "the first" : "another",
		sigismember(&held, SIGUSR1) == 1 ? "held" : "not held");
}
