/* parts.h: the parts of the test program. */
#ifndef PARTS_H
#define PARTS_H

#include <stdbool.h>

#include "check.h"

/* lookup.c */
part variants, populated, found, absent, twice, bettered, refused, drivers, uncreatable, private_directory, sources;
/* refuse.c */
part refuses, panics, bad_setting, late_setting, disabled;
/* build.c */
part threads, process, nests, failures, alone, cancel, leaks;
/* host.c */
part forks, secure, crash, pipes, writes, main_ends, signals, handlers, small_stacks, own_stacks, low_stack, costs;
/* faults.c */
part many;

#endif
