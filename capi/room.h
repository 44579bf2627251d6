/* room.h: whether there is room for Go's runtime in the process. */
#ifndef KS_ROOM_H
#define KS_ROOM_H

#include <stdbool.h>

/* The library has been loaded, and its runtime was not started: the process's limits
 * (RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC) leave too little for it, and it would end
 * the process. Everything is a miss. */
bool ks_has_no_room(void);

/* Looks, once, before Go does anything. */
void ks_look_for_room(void);

#endif
