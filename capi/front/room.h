/* room.h: whether there is room for Go's runtime in the process. */
#ifndef KS_ROOM_H
#define KS_ROOM_H

#include <stdbool.h>

/* Looks whether there is: false where the process's limits (RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC) leave
 * too little for it, or a filter refuses what it needs, since it would end the process. */
bool ks_has_room(void);

/* Says why there was none, to people. */
const char *ks_why_no_room(void);

#endif
