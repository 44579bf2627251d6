/*
 * compile.c: compiles a file, and prints what the compiler answers: codes, the log, and a
 * digest of what was made.
 *
 *	compile nvrtc|hiprtc LIBRARY FILE [OPTION...]
 *
 * With COMPILE_MXCSR=HEX the compiler is called with that in the register. With
 * COMPILE_ASK_MXCSR it is asked for the name of an expression with that, first. With COMPILE_FIRST=OPTION the
 * same is compiled before, with that option, too; with COMPILE_FIRST_AGAIN by a program that has compiled already.
 * With COMPILE_ONLY the process ends then.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *library;
static const char *prefix;

static void find(const char *name, void *to)
{
	char whole[64];
	snprintf(whole, sizeof whole, "%s%s", prefix, name);
	*(void **)to = dlsym(library, whole);
	if (*(void **)to == NULL) {
		printf("no %s\n", whole);
		exit(3);
	}
}

static char *ask(const char *name, void *program, size_t *n)
{
	int (*size)(void *, size_t *), (*get)(void *, char *);
	char with[64];
	snprintf(with, sizeof with, "%sSize", name);
	find(with, &size);
	find(name, &get);
	*n = 0;
	int code = size(program, n);
	const char *sentinel = "nothing is written behind the last byte";
	size_t room = strlen(sentinel);
	char *b = calloc(*n + room, 1);
	memcpy(b + *n, sentinel, room);
	if (code == 0)
		code = get(program, b); /* also where the size is 0, as some applications do */
	printf("%s: %d, %zu bytes%s\n", name, code, *n, memcmp(b + *n, sentinel, room) == 0 ? "" : ", and more");
	b[*n] = 0;
	return b;
}

int main(int argc, char **argv)
{
	static char source[1 << 20];
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *), (*destroy)(void **);
	void *p;
	size_t n;
	if (argc < 4 || (library = dlopen(argv[2], RTLD_NOW)) == NULL)
		return 2;
	prefix = argv[1];
	FILE *f = fopen(argv[3], "r");
	if (f == NULL || fread(source, 1, sizeof source - 1, f) == 0)
		return 2;
	fclose(f);
	find("CreateProgram", &create);
	find("CompileProgram", &compile);
	find("DestroyProgram", &destroy);
	const char *first = getenv("COMPILE_FIRST");
	if (first != NULL) {
		const char *options[64] = {"-DFIRST"};
		for (int i = 4; i < argc && i < 64; i++)
			options[i - 3] = argv[i];
		int code = create(&p, source, argv[3], 0, NULL, NULL);
		if (code == 0 && getenv("COMPILE_FIRST_AGAIN") != NULL)
			code = compile(p, argc - 3, options);
		options[0] = first;
		if (code != 0 || compile(p, argc - 3, options) != 0 || destroy(&p) != 0)
			return 3;
	}
	printf("create: %d\n", create(&p, source, argv[3], 0, NULL, NULL));
#if defined(__x86_64__)
	unsigned before = __builtin_ia32_stmxcsr();
	const char *mode = getenv("COMPILE_MXCSR");
	if (mode != NULL)
		__builtin_ia32_ldmxcsr((unsigned)strtoul(mode, NULL, 16));
#endif
	int code = compile(p, argc - 4, (const char *const *)argv + 4);
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr(before);
#endif
	if (getenv("COMPILE_ONLY") != NULL)
		_exit(0);
	printf("compile: %d\n%s\n", code, ask("GetProgramLog", p, &n));
#if defined(__x86_64__)
	if ((mode = getenv("COMPILE_ASK_MXCSR")) != NULL) {
		__builtin_ia32_ldmxcsr((unsigned)strtoul(mode, NULL, 16));
		int (*lowered)(void *, const char *, const char **);
		const char *name = NULL;
		find("GetLoweredName", &lowered);
		printf("name: %d\n", lowered(p, "none", &name));
		mode = __builtin_ia32_stmxcsr() >> 6 == strtoul(mode, NULL, 16) >> 6 ? "kept" : "changed";
		__builtin_ia32_ldmxcsr(before);
		printf("mode: %s\n", mode);
	}
#endif
	if (code == 0) {
		char *b = ask(*prefix == 'n' ? "GetPTX" : "GetCode", p, &n);
		unsigned long long h = 14695981039346656037ull;
		for (size_t i = 0; i < n; i++)
			h = (h ^ (unsigned char)b[i]) * 1099511628211ull;
		printf("%016llx\n", h);
	}
	printf("destroy: %d\n", destroy(&p));
	return 0;
}
