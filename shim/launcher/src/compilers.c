/* compilers.c: a compiler that is the command of a run is started as what is preloaded starts it, shim/preload/src/exec.c. */
#include "compilers.h"

#include "../../preload/compilers.h"

#include <stdlib.h>
#include <unistd.h>

char **compilers_lead(char **command, const char *file)
{
	const char *runs = getenv("KERNSTASH_COMMAND");
	size_t n = 0;
	/* Of a script the file is the interpreter. What lies in a directory of PATH that is relative the command does not start. */
	if (runs == NULL || *runs != '/' || access(runs, X_OK) != 0 || !is_compiler(*command) || strcmp(base(*command), base(file)) != 0 ||
		access(file, X_OK) != 0 || (strchr(*command, '/') == NULL && *file != '/') || !has_room())
		return command;
	while (command[n] != NULL)
		n++;
	char **words = calloc(n + 4, sizeof(*words));
	if (words == NULL)
		return command;
	words[0] = (char *)runs, words[1] = "compile", words[2] = "--";
	memcpy(words + 3, command, n * sizeof(*words)); /* behind it is a NULL */
	return words;
}
