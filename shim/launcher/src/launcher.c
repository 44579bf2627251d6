/* launcher.c: what is installed as kernstash on Linux. It runs a command with the cache in it, as time(1) runs one. The
 * whole command, kernstash-full, does the rest: it works out flags and settings before (run-prepare), says what the run
 * was worth (run-report), and is all other commands. docs/decisions/100-launcher.md says why. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 2 * PATH_MAX };
extern const Elf64_Ehdr __ehdr_start;    /* of this program */
static char **original;                  /* the environment as it was */
static char *outer = "KERNSTASH_REPORT"; /* with its value in a run within a run */
static char layer[PATH_MAX], preload[PATH_MAX], whole[PATH_MAX], in[4][PATH_MAX], file[ROOM], line[4 * ROOM];
static bool quiet, always, odd, bears; /* odd: why nothing was asked is not plain; bears: the command can be preloaded into */
static int memory = -1, failed; /* the report; why the command does not start, an errno */
static sigset_t every, before;
static struct sigaction standard, children;
static struct timespec begun, end;

/* Says a line on standard error, where that can be written to. */
#define SAY(...) (snprintf(line, sizeof(line), "kernstash: " __VA_ARGS__), say())
static void say(void)
{
	struct pollfd out = {2, POLLOUT, 0};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, was; /* a file may be as long as is allowed */
	sigaction(SIGXFSZ, &ignore, &was);
	if (poll(&out, 1, 1000) == 1 && out.revents == POLLOUT && write(2, line, strlen(line)) < 0)
		out.revents = 0; /* nobody is there to be told */
	sigaction(SIGXFSZ, &was, NULL);
}

/* Sets NAME=VALUE; NAME alone is removed. Others stay as they are, those that stand twice too. */
static void set(char *variable)
{
	char *name = strndup(variable, strcspn(variable, "="));
	if (name != NULL && unsetenv(name) == 0 && strchr(variable, '=') != NULL)
		putenv(variable);
	free(name);
}

/* Sets a variable that is the cache's. Of two lists that others may have begun ours is the first, or the last. */
static void bring(char *variable)
{
	int n = (int)strcspn(variable, "=") + 1;
	bool front = strncmp(variable, "OPENCL_LAYERS=", 14) == 0, back = strncmp(variable, "LD_PRELOAD=", 11) == 0;
	char *paths = variable + n, *list = front ? getenv("OPENCL_LAYERS") : back ? getenv("LD_PRELOAD") : NULL;
	if (list == NULL || *list == 0 || (strstr(list, paths) == NULL &&
		asprintf(&variable, "%.*s%s:%s", n, variable, front ? paths : list, front ? list : paths) > 0))
		set(variable);
}

static bool place(char *to, const char *folder, const char *name)
{
	return *folder != 0 && snprintf(file, sizeof(file), "%s/%s", folder, name) > 0 && realpath(file, to) != NULL ? true : (*to = 0);
}

/* Finds the libraries and the whole command: where it is said, as installed, in a build tree. */
static void find_ours(void)
{
	snprintf(in[0], PATH_MAX, "%s", getenv("KERNSTASH_LIBDIR") != NULL ? getenv("KERNSTASH_LIBDIR") : "");
	if ((readlink("/proc/self/exe", in[3], PATH_MAX - 20) > 0 || realpath((char *)getauxval(AT_EXECFN), in[3]) != NULL) && strrchr(in[3], '/') != NULL) {
		*strrchr(in[3], '/') = 0;
		int prefix = strrchr(in[3], '/') == NULL ? 0 : (int)(strrchr(in[3], '/') - in[3]);
		snprintf(in[1], PATH_MAX, "%.*s/lib/kernstash", prefix, in[3]);
		snprintf(in[2], PATH_MAX, "%.*s/lib", prefix, in[3]);
	}
	for (int i = 0; i < 4; i++) {
		if (*layer == 0 && place(preload, in[i], "libkernstash.so.1") && place(layer, in[i], "libkernstash_opencl_layer.so"))
			place(preload, in[i], "libkernstash_preload.so");
		if (*whole == 0)
			place(whole, in[(i + 1) % 4], "kernstash-full");
	}
}

/* Looks at the program: musl starts none with a library of glibc's, a sanitizer ends one where its own is not the first. */
static void look(const char *name)
{
	union { char text[4096]; Elf64_Ehdr elf; } head;
	Elf64_Shdr s[128];
	char *strings, *dirs = strdup(getenv("PATH") != NULL ? getenv("PATH") : "/bin:/usr/bin");
	struct stat st;
	snprintf(file, sizeof(file), "%s", name);
	for (char *dir; strchr(name, '/') == NULL && (dir = strsep(&dirs, ":")) != NULL;)
		if (snprintf(file, sizeof(file), "%s/%s", *dir != 0 ? dir : ".", name) > 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
			access(file, X_OK) == 0)
			break; /* as execvp(3) does */
	ssize_t n, size;
	bool script = false;
	int fd;
	for (int i = 0;; i++, script = true) { /* a script's program is its interpreter */
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		n = fstat(fd, &st) == 0 ? pread(fd, head.text, sizeof(head) - 1, 0) : 0;
		head.text[n > 0 ? n : 0] = 0;
		char *by = head.text + 2 + (n > 2 ? strspn(head.text + 2, " \t") : 0);
		if (i == 4 || n < 3 || strncmp(head.text, "#!", 2) != 0)
			break;
		snprintf(file, sizeof(file), "%.*s", (int)strcspn(by, " \t\n"), by), close(fd);
	}
	bool is_elf = n > (ssize_t)sizeof(head.elf) && memcmp(head.text, ELFMAG, SELFMAG) == 0;
	bears = !is_elf || (head.text[EI_CLASS] == ELFCLASS64 && head.elf.e_machine == __ehdr_start.e_machine);
	char linker[PATH_MAX] = "";
	Elf64_Phdr p[32];
	size = is_elf && bears ? pread(fd, p, sizeof(p), (off_t)head.elf.e_phoff) / (ssize_t)sizeof(*p) : 0;
	for (int i = 0; i < size && i < head.elf.e_phnum; i++)
		if (p[i].p_type == PT_INTERP && pread(fd, linker, sizeof(linker) - 1, (off_t)p[i].p_offset) < 0)
			*linker = 0;
	bears = bears && strstr(linker, "/ld-musl-") == NULL;
	odd = script || !is_elf || !bears || *linker == 0 || (st.st_mode & (S_ISUID | S_ISGID)) != 0 || getxattr(file, "security.capability", NULL, 0) > 0;
	n = is_elf && bears ? pread(fd, s, sizeof(s), (off_t)head.elf.e_shoff) / (ssize_t)sizeof(*s) : 0;
	for (int i = 0; i < n && i < head.elf.e_shnum; i++)
		if (s[i].sh_type == SHT_DYNAMIC && s[i].sh_link < n && (strings = malloc(s[s[i].sh_link].sh_size)) != NULL &&
			(size = pread(fd, strings, s[s[i].sh_link].sh_size, (off_t)s[s[i].sh_link].sh_offset)) > 0)
			bears = memmem(strings, size, "libasan.so", 10) == NULL && memmem(strings, size, "libclang_rt.asan", 16) == NULL;
	close(fd);
}

/* Replaces this process by a program, which inherits what this one has. It returns where that cannot be. */
static void become(const char *program, char **argv)
{
	sigaction(SIGCHLD, &children, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	execvp(program, argv);
	if (errno == E2BIG) /* what we add is too much: without the cache, then */
		execvpe(program, argv, original);
	failed = errno;
}

/* Has the whole command do something. It has no standard error: Go says much where limits do not let it start. */
static bool ask(char **argv, int input, int output)
{
	int status = -1, null = -1;
	pid_t pid = *whole == 0 || output < 0 ? -1 : fork();
	if (pid == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(dup2(output, 1) < 0 ? null : 1, 1), dup2(input < 0 ? null : input, 0), dup2(null, 2);
		set("LD_PRELOAD"), set("LD_AUDIT"), set("OPENCL_LAYERS"), set(outer);
		become(whole, argv), _exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int new_memory(const char *name) { return fcntl(memfd_create(name, MFD_CLOEXEC), F_DUPFD_CLOEXEC, 3); }

/* Has the whole command work out what flags and settings say. It returns where the command begins, 0 if nothing was. */
static int prepare(char **argv)
{
	char *answer = calloc(1, 1 << 18);
	int fd = new_memory("kernstash-prepare");
	argv[1] = "run-prepare";
	ssize_t n = answer != NULL && ask(argv, -1, fd) ? pread(fd, answer, (1 << 18) - 1, 0) : 0;
	argv[1] = "run";
	if (n <= 0)
		return 0;
	quiet = strchr(answer, 'q') != NULL, always = strchr(answer, 'a') != NULL;
	for (char *at = answer; (at += strlen(at) + 1) < answer + n;)
		strncmp(at, "warning: ", 9) == 0 ? SAY("%s\n", at) : bring(at);
	return atoi(answer);
}

/* Reports whether the whole command is to look: at settings, or at libraries that are missing or in an odd place. */
static bool is_special(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool named = config != NULL && *config != 0, special = *layer == 0 || strpbrk(layer, " :") != NULL;
	snprintf(file, sizeof(file), "%s%s/kernstash/config.json", named ? config : home == NULL ? "" : home, named ? "" : "/.config");
	for (char **v = environ; *v != NULL; v++)
		special = special || (strncmp(*v, "KERNSTASH_", 10) == 0 && strncmp(*v + 10, "REPORT=", 7) != 0 && strncmp(*v + 10, "OPENCL_D", 8) != 0);
	return special || faccessat(AT_FDCWD, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && close(fd) == 0;
}

/* Waits until the child ends, and stops where it stops. Signals are passed on but for those to the whole group. */
static int wait_for(pid_t child)
{
	static const char terminal[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGCONT, SIGCHLD, 0};
	for (siginfo_t s;;) {
		int status, sig = sigwaitinfo(&every, &s);
		bool pass = sig > 0 && (s.si_code <= 0 ? s.si_pid != child && s.si_pid != getpid()
			: strchr(terminal, sig) == NULL && (sig != SIGHUP || getsid(0) == getpid()));
		if (pass && syscall(SYS_rt_sigqueueinfo, child, sig, &s) != 0)
			kill(child, sig);
		for (pid_t p; (p = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
			s.si_pid = 0; /* of a child that goes on already */
			if (p == child && !WIFSTOPPED(status))
				return status;
			if (p == child && WSTOPSIG(status) == SIGSTOP && !has_terminal())
				continue; /* nobody's job: who lets the child go on (kill -CONT, cpulimit) does not know of us */
			if (p != child || waitid(P_PID, (id_t)child, &s, WEXITED | WCONTINUED | WNOHANG | WNOWAIT) != 0 || s.si_pid != 0)
				continue;
			sigdelset(&every, sig = WSTOPSIG(status)), raise(sig); /* here, or where it is let in, we stop */
			sigprocmask(SIG_SETMASK, &every, NULL), sigaddset(&every, sig), sigprocmask(SIG_SETMASK, &every, NULL);
		}
	}
}

int main(int argc, char **argv)
{
	int n = 0, at = 2, begins = 0;
	char pid[16] = "", *text, **words = calloc((size_t)argc + 3, sizeof(*words));
	struct stat st = {0};
	for (; environ[n] != NULL; n++)
		outer = strncmp(environ[n], "KERNSTASH_REPORT=", 17) == 0 ? environ[n] : outer;
	original = memcpy(calloc((size_t)n + 1, sizeof(*original)), environ, (size_t)n * sizeof(*original));
	sigfillset(&every), sigprocmask(SIG_SETMASK, NULL, &before), sigaction(SIGCHLD, &standard, &children);
	find_ours();
	bool is_run = argc > 1 && strcmp(argv[1], "run") == 0;
	for (; is_run && at < argc && (strcmp(argv[at], "-q") == 0 || strcmp(argv[at], "--quiet") == 0); at++)
		quiet = true;
	bool plain = is_run && at < argc && (argv[at][0] != '-' || strcmp(argv[at++], "--") == 0) && at < argc;
	begins = is_run && (!plain || is_special()) ? prepare(argv) : 0;
	if (begins == 0 && !plain) {
		argv[0] = "kernstash", become(whole, argv);
		return SAY("kernstash-full is in none of %s, %s, %s\n", in[1], in[2], in[3]), 1;
	}
	char **command = argv + (begins > 0 ? begins : at);
	look(*command);
	if (begins == 0 && *layer == 0)
		SAY("warning: the command runs without the cache: its libraries are in none of %s, %s, %s; KERNSTASH_LIBDIR may say "
			"where they are\n", in[1], in[2], in[3]);
	else if (begins == 0 && strchr(layer, ':') == NULL && asprintf(&text, "OPENCL_LAYERS=%s", layer) > 0) {
		bring(text);
		if ((bears = bears && strchr(layer, ' ') == NULL) && asprintf(&text, "LD_PRELOAD=%s%s%s", layer, *preload != 0 ? ":" : "", preload) > 0)
			bring(text);
		bring(bears ? "KERNSTASH_OPENCL_DOOR=auto" : "KERNSTASH_OPENCL_DOOR=layer");
	}
	if ((!quiet || always) && readlink("/proc/self", pid, sizeof(pid) - 1) > 0)
		memory = new_memory("kernstash-report");
	pid_t us = getpid(), child = -1;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (memory >= 0 && asprintf(&text, "KERNSTASH_REPORT=/proc/%s/fd/%d", pid, memory) > 0) {
		set(text), sigprocmask(SIG_SETMASK, &every, NULL);
		if ((child = vfork()) == 0) {
			pid_t parent = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? getppid() : us;
			if (parent == us || parent == 0) /* 0: what we start is in a PID namespace that we are not in */
				become(*command, command);
			_exit(127);
		}
	}
	if (child < 0) /* nothing is to be said, or there is no room for two */
		set(outer), become(*command, command);
	if (failed != 0)
		return SAY("run: %s: %s\n", *command, strerror(failed)), failed == ENOENT ? 127 : 126;
	int status = wait_for(child), sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	clock_gettime(CLOCK_MONOTONIC, &end);
	memcpy(words + 2, argv, (size_t)argc * sizeof(*words)); /* the flags begin at argv[2] */
	words[0] = "kernstash", words[1] = "run-report";
	if (!always && !odd && fstat(memory, &st) == 0 && st.st_size == 0)
		SAY("nothing was asked of the cache: the layer was not loaded: %s made no OpenCL program, nor did what it started; "
			"and no other compiler that the cache serves was called\n", *command);
	else if (asprintf(&words[2], "%d", status) < 0 || asprintf(&words[3], "%lld", (end.tv_sec - begun.tv_sec) * 1000000000LL +
		end.tv_nsec - begun.tv_nsec) < 0 || !ask(words, memory, 2))
		SAY("no report: %s did not run\n", *whole == 0 ? "kernstash-full" : whole);
	sigdelset(&every, sig);
	if (sig != 0) /* the command has left a core, where one is wanted */
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), sigaction(sig, &standard, NULL), raise(sig), sigprocmask(SIG_SETMASK, &every, NULL);
	return sig != 0 ? 128 + sig : WEXITSTATUS(status);
}
