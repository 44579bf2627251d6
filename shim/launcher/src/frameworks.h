/* frameworks.h: the caches of frameworks that a run switches on where nobody has decided about them. */
#pragma once

#include <stdbool.h>

/* Reports whether the whole command is to decide: something is set that may matter, or there is something to be made. */
bool frameworks_special(void);

/* Switches the caches on, and reports whether there was one. It does nothing where the whole command is to decide. */
bool frameworks_enter(void);
