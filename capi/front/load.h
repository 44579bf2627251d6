/*
 * load.h: the library that is written in Go, which is loaded when something is asked of it for
 * the first time.
 */
#ifndef KS_LOAD_H
#define KS_LOAD_H

#include <stdbool.h>

#include "entries.h"

/* Says whether Go can be used, or nobody has tried yet: false where the limits leave no room for
 * it, and in a child that was forked when it was loaded. It costs three loads. */
bool ks_usable(void);

/* Returns Go's functions, and loads it where nobody has asked before; NULL where Go cannot be
 * used. Call it through ks_enter, which has a
 * stack for it and holds the host's signals back: what the thread holds back Go's threads do. */
const struct ks_go *ks_load(void);

/* Returns Go's functions where Go is loaded, else NULL. */
const struct ks_go *ks_loaded(void);

/* Returns the word that threads wait at which have that number, once ks_usable was true; it is 0 in
 * children that were forked. */
_Atomic uint32_t *ks_event(uint32_t number);

/* Says why Go cannot be used, after ks_load returned NULL. */
const char *ks_why_not_loaded(void);

#endif
