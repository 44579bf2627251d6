/* launcher.c: what is installed as kernstash on Linux: it runs a command with the cache in it, as time(1) runs one. The whole
 * command, kernstash-full, is asked before and after (run-prepare, run-report), and is all else, but for compilers: docs/decisions/100-launcher.md, 209-command-of-compilers.md. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "compilers.h"
#include "frameworks.h"
#include "layers.h"

extern const Elf64_Ehdr __ehdr_start; /* of this program */
static char **original;               /* the environment as it was */
static char layer[PATH_MAX], preload[PATH_MAX], whole[PATH_MAX], compiles[PATH_MAX], in[4][PATH_MAX], file[2 * PATH_MAX], line[8 * PATH_MAX];
static bool quiet, odd, bears, switched, strict; /* odd: why nothing was asked is not plain; bears: the command can be preloaded into; switched: JAX's cache is on; strict: the report decides how a run ends */
static int memory = -1, failed; /* the report; why the command does not start, an errno */
static sigset_t every, before;
static void (*children)(int);
static struct timespec begun, end;

/* Says a line on standard error, where that can be written to. */
#define SAY(...) (snprintf(line, sizeof(line), "kernstash: " __VA_ARGS__), say())
static void say(void)
{
	struct pollfd out = {2, POLLOUT, 0};
	void (*was)(int) = signal(SIGXFSZ, SIG_IGN); /* a file may be as long as is allowed */
	if (poll(&out, 1, 1000) == 1 && out.revents == POLLOUT)
		dprintf(2, "%s", line);
	signal(SIGXFSZ, was);
}

/* Sets a variable that is the cache's. Of two lists that others may have begun ours is the first, or the last. */
static void bring(char *variable)
{
	int n = (int)strcspn(variable, "=") + 1;
	bool front = strncmp(variable, LAYERS "=", sizeof(LAYERS)) == 0, back = strncmp(variable, "LD_PRELOAD=", 11) == 0;
	char *paths = variable + n, *list = front ? getenv(LAYERS) : back ? getenv("LD_PRELOAD") : NULL;
	if (list == NULL || *list == 0 || (strstr(list, paths) == NULL &&
		asprintf(&variable, "%.*s%s:%s", n, variable, front ? paths : list, front ? list : paths) > 0))
		unsetenv(strndupa(variable, (size_t)n - 1)), putenv(variable); /* it may stand there twice */
}

static bool place(char *to, const char *folder, const char *name)
{
	return folder != NULL && *folder != 0 && snprintf(file, sizeof(file), "%s/%s", folder, name) > 0 && realpath(file, to) != NULL ? true : (*to = 0);
}

/* Finds the libraries, the whole command, and what starts compilers, which may be the same: where it is said, as installed, in a build tree. */
static void find_ours(void)
{
	char *named = getenv("KERNSTASH_LIBDIR"), *self = realpath("/proc/self/exe", NULL);
	self = self != NULL ? self : realpath((char *)getauxval(AT_EXECFN), NULL);
	snprintf(in[0], PATH_MAX, "%s", named != NULL ? named : "");
	if (self != NULL)
		snprintf(in[3], PATH_MAX, "%s", dirname(self)), snprintf(in[1], PATH_MAX, "%s/lib/kernstash", dirname(self)), snprintf(in[2], PATH_MAX, "%s/lib", self);
	for (int i = 0; i < 4 && *layer == 0; i++)
		if (place(preload, in[i], "libkernstash.so.1") && place(layer, in[i], LAYER_FILE))
			place(preload, in[i], "libkernstash_preload.so");
	for (int i = 1; i <= 4 && *whole == 0; i++)
		if (place(whole, in[i % 4], "kernstash-full") && !place(compiles, in[i % 4], "kernstash-compile"))
			strcpy(compiles, whole);
}

/* Reads a part of a file, with a NUL behind it; what the file has not is 0. NULL: there is nothing. */
static void *part(int fd, size_t at, size_t size)
{
	void *text = calloc(1, size + 1);
	return text != NULL && pread(fd, text, size, (off_t)at) > 0 ? text : NULL;
}

/* Looks at the program: musl starts none with a library of glibc's, a sanitizer ends one where its own is not the first. */
static void look(const char *name)
{
	char *head, *linker = NULL, *names, *dir, *dirs = strdup(getenv("PATH") != NULL ? getenv("PATH") : "/bin:/usr/bin");
	struct stat st; struct rlimit stack; /* of which the dynamic linker needs more for what is preloaded */
	snprintf(file, sizeof(file), "%s", name);
	while (strchr(name, '/') == NULL && (dir = strsep(&dirs, ":")) != NULL) { /* as execvp(3) does */
		snprintf(file, sizeof(file), "%s/%s", *dir != 0 ? dir : ".", name);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			break;
	}
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	for (int i = 0; (head = part(fd, 0, PATH_MAX)) != NULL && strncmp(head, "#!", 2) == 0 && i < 4; i++, odd = true) {
		sscanf(head + 2, "%4095s", file); /* a script's program is its interpreter */
		close(fd), fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	const Elf64_Ehdr *elf = (void *)head;
	bool is_elf = head != NULL && memcmp(head, ELFMAG, SELFMAG) == 0;
	bears = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur >= 64 << 10 && (!is_elf || (head[EI_CLASS] == ELFCLASS64 && elf->e_machine == __ehdr_start.e_machine));
	const Elf64_Phdr *p = is_elf && bears ? part(fd, elf->e_phoff, elf->e_phnum * sizeof(*p)) : NULL;
	const Elf64_Shdr *s = is_elf && bears ? part(fd, elf->e_shoff, elf->e_shnum * sizeof(*s)) : NULL;
	for (int i = 0; p != NULL && i < elf->e_phnum; i++)
		if (p[i].p_type == PT_INTERP && (linker = part(fd, p[i].p_offset, p[i].p_filesz)) != NULL)
			bears = strstr(linker, "/ld-musl-") == NULL;
	for (int i = 0; s != NULL && i < elf->e_shnum; i++) /* the dynamic section's strings */
		if (s[i].sh_type == SHT_STRTAB && (s[i].sh_flags & SHF_ALLOC) != 0 && (names = part(fd, s[i].sh_offset, s[i].sh_size)) != NULL &&
			(memmem(names, s[i].sh_size, "libasan.so", 10) != NULL || memmem(names, s[i].sh_size, "libclang_rt.asan", 16) != NULL))
			bears = false;
	odd = odd || linker == NULL || !bears || fstat(fd, &st) != 0 || (st.st_mode & (S_ISUID | S_ISGID)) != 0 ||
		fgetxattr(fd, "security.capability", NULL, 0) > 0, close(fd);
}

/* Replaces this process by a program, which inherits what this one has. It returns where that cannot be. */
static void become(const char *program, char **argv)
{
	signal(SIGCHLD, children);
	sigprocmask(SIG_SETMASK, &before, NULL);
	execvp(program, argv);
	if (errno == E2BIG) /* what we add is too much: without the cache, then */
		execvpe(program, argv, original);
	failed = errno;
}

/* Has the whole command take a step, with what was there before the run, and returns its exit status; -1: there is none. It has no standard error: Go says much where limits do not let it start. */
static int ask(char *step, char **argv, int input, int output)
{
	int status = -1, null = -1;
	pid_t pid = *whole == 0 || output < 0 ? -1 : fork();
	if (pid == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(dup2(output, 1) < 0 ? null : 1, 1), dup2(input < 0 ? null : input, 0), dup2(null, 2);
		environ = original, argv[0] = "kernstash", argv[1] = step;
		unsetenv("LD_PRELOAD"), unsetenv("LD_AUDIT"), unsetenv(LAYERS);
		become(whole, argv), _exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int new_memory(const char *name) { return fcntl(memfd_create(name, MFD_CLOEXEC), F_DUPFD_CLOEXEC, 3); }

/* Has the whole command work out what flags and settings say. It returns where the command begins, 0 if nothing was. */
static int prepare(char **argv)
{
	static char answer[1 << 18];
	int fd = new_memory("kernstash-prepare");
	ssize_t n = ask("run-prepare", argv, -1, fd) == 0 ? pread(fd, answer, sizeof(answer) - 1, 0) : 0;
	quiet = n > 0 ? strchr(answer, 'q') != NULL : quiet, strict = strchr(answer, 's') != NULL;
	for (char *at = answer; (at += strlen(at) + 1) < answer + n;)
		strncmp(at, "warning: ", 9) == 0 ? SAY("%s\n", at) : bring(at);
	return atoi(answer);
}

/* Reports whether the whole command is to look: at settings, or at libraries that are missing or in an odd place. */
static bool is_special(void)
{
	bool special = *layer == 0 || strpbrk(layer, " :") != NULL || place(line, getenv("XDG_CONFIG_HOME"), "kernstash/config.json") ||
		place(line, getenv("HOME"), ".config/kernstash/config.json");
	for (char **v = environ; *v != NULL; v++)
		special = special || (strncmp(*v, "KERNSTASH_", 10) == 0 && strncmp(*v + 10, "REPORT=", 7) != 0 && strncmp(*v + 10, "INJECT=", 7) != 0);
	return special || frameworks_special();
}

/* Waits until the child ends, and stops where it stops. Signals are passed on but for those to the whole group. */
static int wait_for(pid_t child)
{
	static const char terminal[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGCONT, SIGCHLD, 0};
	for (siginfo_t s;;) {
		int status, sig = sigwaitinfo(&every, &s);
		bool pass = sig > 0 && (s.si_code <= 0 ? s.si_pid != child && s.si_pid != getpid()
			: strchr(terminal, sig) == NULL && (sig != SIGHUP || getsid(0) == getpid()));
		if (pass && (s.si_code != SI_QUEUE || sigqueue(child, sig, s.si_value) != 0))
			kill(child, sig);
		for (pid_t p; (p = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
			if (p == child && !WIFSTOPPED(status))
				return status;
			/* Nobody's job: who lets the child go on (kill -CONT, cpulimit) does not know of us. */
			bool alone = WSTOPSIG(status) == SIGSTOP && close(open("/dev/tty", O_RDONLY | O_NOCTTY)) != 0;
			if (p != child || alone || waitid(P_PID, (id_t)child, &s, WEXITED | WCONTINUED | WNOHANG | WNOWAIT) != 0 || s.si_pid != 0)
				continue; /* or it goes on already */
			sigdelset(&every, sig = WSTOPSIG(status)), raise(sig); /* here, or where it is let in, we stop */
			sigprocmask(SIG_SETMASK, &every, NULL), sigaddset(&every, sig), sigprocmask(SIG_SETMASK, &every, NULL);
		}
	}
}

int main(int argc, char **argv)
{
	int n = 0, at = 2, us = getpid(), child = -1;
	char pid[16] = "", *text, **words = calloc((size_t)argc + 3, sizeof(*words));
	while (environ[n] != NULL)
		n++;
	original = memcpy(calloc((size_t)n + 1, sizeof(*original)), environ, (size_t)n * sizeof(*original));
	sigfillset(&every), sigprocmask(SIG_SETMASK, NULL, &before), children = signal(SIGCHLD, SIG_DFL);
	find_ours();
	bool is_run = argc > 1 && strcmp(argv[1], "run") == 0;
	for (; is_run && at < argc && (strcmp(argv[at], "-q") == 0 || strcmp(argv[at], "--quiet") == 0); at++)
		quiet = true;
	bool plain = is_run && at < argc && (argv[at][0] != '-' || strcmp(argv[at++], "--") == 0) && at < argc;
	const int begins = is_run && (!plain || is_special()) ? prepare(argv) : 0;
	if (begins == 0 && !plain) {
		argv[0] = basename(argv[0]); /* which may be that of a compiler */
		become(strcmp(argv[0], "kernstash") != 0 || (argc > 1 && strcmp(argv[1], "compile") == 0) ? compiles : whole, argv);
		return SAY("kernstash-full is in none of %s, %s, %s\n", in[1], in[2], in[3]), 1;
	}
	char **command = argv + (begins > 0 ? begins : at);
	look(*command);
	if (begins == 0 && *layer == 0)
		SAY("warning: the command runs without the cache: its libraries are in none of %s, %s, %s; KERNSTASH_LIBDIR may say where they are\n", in[1], in[2], in[3]);
	else if (begins == 0 && strchr(layer, ':') == NULL && asprintf(&text, LAYERS "=%s", layer) > 0) {
		bring(text);
		if ((bears = bears && strchr(layer, ' ') == NULL) && (*preload == 0 || *whole == 0 || setenv("KERNSTASH_COMMAND", compiles, 0) == 0) &&
			asprintf(&text, "LD_PRELOAD=%s%s%s", layer, *preload != 0 ? ":" : "", preload) > 0)
			bring(text);
		bring(bears ? "KERNSTASH_INJECT=auto" : "KERNSTASH_INJECT=layer"), switched = frameworks_enter();
	}
	char **starts = compilers_lead(command, file);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (!quiet && readlink("/proc/self", pid, sizeof(pid) - 1) > 0 && (memory = new_memory("kernstash-report")) >= 0 &&
		asprintf(&text, "KERNSTASH_REPORT=/proc/%s/fd/%d", pid, memory) > 0) {
		sigprocmask(SIG_SETMASK, &every, NULL);
		if ((child = vfork()) == 0) {
			putenv(text), prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == us || getppid() == 0) /* 0: what we start is in a PID namespace that we are not in */
				become(*starts, starts);
			_exit(127);
		}
	}
	if (child < 0) /* nothing is to be said, or there is no room for two */
		strict ? (SAY("run: there can be no report: %s\n", strerror(errno)), exit(125)) : become(*starts, starts);
	if (failed != 0)
		return SAY("run: %s: %s\n", *command, strerror(failed)), failed == ENOENT ? 127 : 126;
	int status = wait_for(child), sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0, said = 0;
	clock_gettime(CLOCK_MONOTONIC, &end);
	memcpy(words + 2, argv, (size_t)argc * sizeof(*words)); /* the flags begin at argv[2] */
	if (begins == 0 && !odd && pread(memory, line, 1, 0) == 0)
		SAY("nothing was asked of the cache: the layer was not loaded: %s made no " LAYER_RUNTIME " program, nor did what it started; "
			"and no other compiler that the cache serves was called\n%s", *command, switched ? "  switched on, of frameworks' own caches: jax\n" : "");
	else if (asprintf(&words[2], "%d", status) < 0 || asprintf(&words[3], "%lld", (end.tv_sec - begun.tv_sec) * 1000000000LL +
		end.tv_nsec - begun.tv_nsec) < 0 || ((said = ask("run-report", words, memory, 2)) != 0 && said != 3))
		SAY("no report: %s did not run\n", *whole == 0 ? "kernstash-full" : whole), said = 125;
	if (sigdelset(&every, sig), sig != 0) /* the command has left a core, where one is wanted */
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), signal(sig, SIG_DFL), raise(sig), sigprocmask(SIG_SETMASK, &every, NULL);
	return sig != 0 ? 128 + sig : strict && WEXITSTATUS(status) == 0 ? said : WEXITSTATUS(status);
}
