/*
 * inputs.c: calls of nvJitLink and libnvvm, in the order of its arguments, and all that they answer.
 *
 *	inputs nvjitlink|nvvm LIBRARY [VERSION] CALL...
 *
 * A call is one argument: "create OPTION...", "add KIND FILE [NAME]", "file KIND FILE", "lazy FILE NAME", "verify OPTION...",
 * "complete OPTION...", "ask" (for all that there is), "size N", "get N" (whatever the size is), "destroy"; "again" begins with another
 * program, "threads N" has N threads do what follows, each for itself, "locale NAME" is setlocale, "touch FILE" has it of the hour 1. VERSION is _12_0, of the names of nvJitLink.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int (*any_fn)(void *, void *, void *, void *, void *);

static const char *const linker[] = {"Create", "Destroy", "AddData", "AddFile", "Complete", "", "InfoLog", "ErrorLog", "LinkedCubin", "LinkedPtx", NULL};
static const char *const nvvm[] = {"CreateProgram", "DestroyProgram", "AddModuleToProgram", "LazyAddModuleToProgram", "CompileProgram",
	"VerifyProgram", "ProgramLog", "CompiledResult", NULL};

enum { CREATE, DESTROY, ADD, TOO, COMPLETE, VERIFY, PIECES, MOST = 8 };

static int is_linker, argc_;
static char **argv_;
static any_fn functions[PIECES], sizes[MOST], gets[MOST];
static const char *const *names;

static any_fn look(void *library, const char *version, const char *before, const char *name, const char *after)
{
	char all[128];
	any_fn f;
	snprintf(all, sizeof all, "%s%s%s%s%s%s", *version ? "__" : "", is_linker ? "nvJitLink" : "nvvm", before, name, after, version);
	*(void **)&f = dlsym(library, all);
	return f;
}

static char *read_file(const char *name, size_t *size)
{
	FILE *f = fopen(name, "rb");
	char *data = calloc(1, 64 << 20);
	if (f == NULL)
		exit(9);
	*size = fread(data, 1, (64 << 20) - 1, f);
	fclose(f);
	return data;
}

static void ask_size(FILE *out, void *h, int i)
{
	size_t n = 77;
	int code = sizes[i](h, &n, NULL, NULL, NULL);
	fprintf(out, "%s size: %d, %zu\n", names[PIECES + i], code, n);
}

static void ask(FILE *out, void *h, int i, int always)
{
	size_t n = 77;
	unsigned long sum = 5381;
	int code = sizes[i](h, &n, NULL, NULL, NULL);
	char *data = malloc(n + 64);
	memset(data, 'x', n + 64);
	fprintf(out, "%s: %d, %zu", names[PIECES + i], code, n);
	if (code == 0 || always)
		code = gets[i](h, data, NULL, NULL, NULL);
	for (size_t k = 0; k < n + 64; k++)
		sum = sum * 33 + (unsigned char)data[k];
	fprintf(out, "; %d, %lx %.*s\n", code, sum, strstr(names[PIECES + i], "Log") ? (int)strnlen(data, n) : 0, data);
	free(data);
}

static void *calls(void *from)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	void *h = NULL;
	for (int i = (int)(intptr_t)from; i < argc_; i++) {
		char *words[64], *rest, *call = strdup(argv_[i]);
		size_t n = 0, size;
		for (char *w = strtok_r(call, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest))
			words[n++] = w;
		void *number = (void *)(intptr_t)(n - 1), *options = words + 1;
		const char *w = words[0];
		int code = -1;
		if (strcmp(w, "create") == 0) {
			code = is_linker ? functions[CREATE](&h, number, options, NULL, NULL) : functions[CREATE](&h, NULL, NULL, NULL, NULL);
		} else if (strcmp(w, "add") == 0) {
			char *data = read_file(words[2], &size), *name = n > 3 ? words[3] : NULL;
			code = is_linker ? functions[ADD](h, (void *)(intptr_t)atoi(words[1]), data, (void *)size, name)
					 : functions[ADD](h, data, (void *)size, name, NULL);
			memset(data, 0, size); /* it is the caller's */
			free(data);
		} else if (strcmp(w, "file") == 0) {
			code = functions[TOO](h, (void *)(intptr_t)atoi(words[1]), words[2], NULL, NULL);
		} else if (strcmp(w, "lazy") == 0) {
			char *data = read_file(words[1], &size);
			code = functions[TOO](h, data, (void *)size, words[2], NULL);
			free(data);
		} else if (strcmp(w, "verify") == 0) {
			code = functions[VERIFY](h, number, options, NULL, NULL);
		} else if (strcmp(w, "complete") == 0) {
			code = is_linker ? functions[COMPLETE](h, NULL, NULL, NULL, NULL) : functions[COMPLETE](h, number, options, NULL, NULL);
		} else if (strcmp(w, "destroy") == 0) {
			code = functions[DESTROY](&h, NULL, NULL, NULL, NULL);
		} else if (strcmp(w, "locale") == 0) {
			code = setlocale(LC_NUMERIC, words[1]) == NULL;
		} else if (strcmp(w, "touch") == 0) {
			struct timespec at[2] = {{3600, 0}, {3600, 0}};
			code = utimensat(AT_FDCWD, words[1], at, 0);
		} else if (strcmp(w, "again") == 0) {
			h = NULL;
		} else if (strcmp(w, "size") == 0) {
			ask_size(out, h, atoi(words[1]));
		} else if (strcmp(w, "get") == 0) {
			ask(out, h, atoi(words[1]), 1);
		} else {
			for (int k = 0; names[PIECES + k] != NULL; k++)
				ask(out, h, k, 0);
		}
		fprintf(out, "%s: %d%s\n", argv_[i], code, h == NULL ? ", no program" : "");
	} /* nvJitLink keeps the names that it is given */
	fclose(out);
	return text;
}

int main(int argc, char **argv)
{
	is_linker = strcmp(argv[1], "nvjitlink") == 0;
	names = is_linker ? linker : nvvm;
	void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	int first = 3;
	const char *version = "";
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 8;
	}
	if (argc > 3 && argv[3][0] == '_')
		version = argv[first++];
	for (int i = 0; i < PIECES; i++)
		functions[i] = *names[i] == 0 ? NULL : look(library, version, "", names[i], "");
	for (int i = 0; names[PIECES + i] != NULL; i++) {
		sizes[i] = look(library, version, "Get", names[PIECES + i], "Size");
		gets[i] = look(library, version, "Get", names[PIECES + i], "");
	}
	argc_ = argc;
	argv_ = argv;
	pthread_t threads[64];
	int n = 1;
	if (strncmp(argv[first], "threads ", 8) == 0)
		n = atoi(argv[first++] + 8);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, calls, (void *)(intptr_t)first);
	for (int i = 0; i < n; i++) {
		void *text;
		pthread_join(threads[i], &text);
		fputs(text, stdout);
	}
	return 0;
}
