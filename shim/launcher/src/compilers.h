/* compilers.h: a compiler that is the command of a run. */
#pragma once

/* Returns the words that start a command, whose program is in a file: that of `kernstash compile -- COMMAND` for a compiler,
 * where the environment names the command that runs those. */
char **compilers_lead(char **command, const char *file);
