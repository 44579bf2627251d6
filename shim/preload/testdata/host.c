/*
 * host.c: ways in which programs reach a run-time compiler.
 *
 *	host plugin PLUGIN        through a library opened with RTLD_LOCAL
 *	host two LIBRARY LIBRARY  two libraries in one process, each with programs of its own
 *	host close LIBRARY        closed and opened again
 *	host deep LIBRARY PLUGIN  with a scope of its own
 *	host fork LIBRARY         in a child, before and after the first compile
 *	host none                 there is no such library: what dlsym says
 *	host threads LIBRARY N    in N threads at once
 *	host next                 RTLD_NEXT and RTLD_DEFAULT of other names
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT(n) "extern \"C\" __global__ void k(int *p) { *p = " n "; }\n"

struct api {
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*size)(void *, size_t *);
	int (*get)(void *, char *);
	int (*destroy)(void **);
};

static int load(void *from, struct api *a)
{
	*(void **)&a->create = dlsym(from, "nvrtcCreateProgram");
	*(void **)&a->compile = dlsym(from, "nvrtcCompileProgram");
	*(void **)&a->size = dlsym(from, "nvrtcGetPTXSize");
	*(void **)&a->get = dlsym(from, "nvrtcGetPTX");
	*(void **)&a->destroy = dlsym(from, "nvrtcDestroyProgram");
	return a->create && a->compile && a->size && a->get && a->destroy;
}

static size_t run(const struct api *a, const char *source)
{
	void *p;
	size_t n = 0;
	char *b;
	if (a->create(&p, source, "host.cu", 0, NULL, NULL) != 0)
		return 0;
	if (a->compile(p, 0, NULL) != 0 || a->size(p, &n) != 0)
		return 0;
	b = malloc(n);
	if (a->get(p, b) != 0 || strlen(b) + 1 != n)
		n = 0;
	free(b);
	return a->destroy(&p) == 0 ? n : 0;
}

static void *open_library(const char *name)
{
	void *l = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (l == NULL) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return l;
}

static int plugin(const char *name, int flags)
{
	void *l = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
	size_t (*run)(const char *);
	if (l == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&run = dlsym(l, "run");
	printf("%zu bytes\n", run(TEXT("1")));
	return 0;
}

static int two(const char *first, const char *second)
{
	void *l1 = open_library(first), *l2 = open_library(second), *p1, *p2;
	struct api a1, a2;
	size_t n1 = 0, n2 = 0;
	if (l1 == l2 || !load(l1, &a1) || !load(l2, &a2))
		return 1;
	printf("the functions are %s\n", a1.create == a2.create ? "the same" : "not the same");
	int c1 = a1.create(&p1, TEXT("1"), "1.cu", 0, NULL, NULL), c2 = a2.create(&p2, TEXT("22"), "2.cu", 0, NULL, NULL);
	printf("create: %d %d\n", c1, c2);
	c1 = a1.compile(p1, 0, NULL);
	c2 = a2.compile(p2, 0, NULL);
	printf("compile: %d %d\n", c1, c2);
	a1.size(p1, &n1);
	a2.size(p2, &n2);
	printf("size: %zu %zu\n", n1, n2);
	/* A program is its own library's, whichever function it is given to. */
	c1 = a1.destroy(&p1);
	c2 = a2.destroy(&p2);
	printf("destroy: %d %d\n", c1, c2);
	return 0;
}

static int closed(const char *name)
{
	struct api a;
	for (int i = 0; i < 3; i++) {
		void *l = open_library(name);
		if (!load(l, &a))
			return 1;
		printf("%zu bytes\n", run(&a, TEXT("5")));
		printf("closed: %d\n", dlclose(l));
	}
	return 0;
}

static void child(const char *when, const struct api *a, const char *source)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(240);
		printf("%s: %zu bytes\n", when, run(a, source));
		exit(0); /* what it compiled is to be stored */
	}
	int status;
	waitpid(pid, &status, 0);
	if (status != 0)
		printf("%s: status %x\n", when, status);
}

static int forks(const char *name)
{
	struct api a;
	void *p;
	size_t n = 0;
	if (!load(open_library(name), &a))
		return 1;
	child("a child before the first compile", &a, TEXT("6"));
	printf("%zu bytes\n", run(&a, TEXT("7")));
	child("a child after it", &a, TEXT("7"));
	/* A program that was answered for, in a child. */
	if (a.create(&p, TEXT("7"), "host.cu", 0, NULL, NULL) != 0 || a.compile(p, 0, NULL) != 0)
		return 1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(240);
		a.size(p, &n);
		char *b = malloc(n);
		printf("its program: %d, %zu bytes\n", a.get(p, b), n);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static struct api shared;

static void *thread(void *number)
{
	char source[200];
	snprintf(source, sizeof source, "extern \"C\" __global__ void k(int *p) { *p = %ld; }\n", (long)number % 3);
	size_t n = 0;
	for (int i = 0; i < 20; i++)
		n = run(&shared, source);
	return (void *)n;
}

static int threads(const char *name, int n)
{
	pthread_t *all = calloc((size_t)n, sizeof *all);
	int bad = 0;
	if (!load(open_library(name), &shared))
		return 1;
	for (long i = 0; i < n; i++)
		pthread_create(&all[i], NULL, thread, (void *)i);
	for (int i = 0; i < n; i++) {
		void *size;
		pthread_join(all[i], &size);
		bad += size == NULL;
	}
	printf("%d of %d failed\n", bad, n);
	free(all);
	return bad;
}

/* Stands before libc's, as preloaded libraries and allocators have them. */
int puts(const char *text)
{
	int (*next)(const char *);
	*(void **)&next = dlsym(RTLD_NEXT, "puts");
	return next == puts ? -1 : next(text);
}

static int next(void)
{
	printf("puts: %d\n", puts("through RTLD_NEXT") >= 0);
	printf("default: %d\n", dlsym(RTLD_DEFAULT, "puts") == *(void **)&(void *){(void *)puts});
	printf("nothing: %d, %s\n", dlsym(RTLD_DEFAULT, "no_such_name_at_all") == NULL, dlerror() != NULL ? "with an error" : "without");
	printf("NULL handle: %d\n", dlsym(NULL, "malloc") != NULL);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 1 << 12);
	if (argc > 2 && strcmp(argv[1], "plugin") == 0)
		return plugin(argv[2], 0);
	if (argc > 2 && strcmp(argv[1], "deep") == 0)
		return plugin(argv[2], RTLD_DEEPBIND);
	if (argc > 3 && strcmp(argv[1], "two") == 0)
		return two(argv[2], argv[3]);
	if (argc > 2 && strcmp(argv[1], "close") == 0)
		return closed(argv[2]);
	if (argc > 2 && strcmp(argv[1], "fork") == 0)
		return forks(argv[2]);
	if (argc > 3 && strcmp(argv[1], "threads") == 0)
		return threads(argv[2], atoi(argv[3]));
	if (argc > 1 && strcmp(argv[1], "next") == 0)
		return next();
	if (argc > 1 && strcmp(argv[1], "none") == 0) {
		void *found = dlsym(RTLD_DEFAULT, "nvrtcCreateProgram");
		const char *why = dlerror();
		printf("%s, %s\n", found == NULL ? "nothing" : "something", why != NULL ? "an error" : "no error");
		return 0;
	}
	return 2;
}
