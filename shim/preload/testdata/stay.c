/* stay.c: a process with the cache goes on for a while when all is done, as most do: on a
 * busy machine the last of what it compiled is stored then. (What of that is left where it
 * does not, shim/last tests.) */
#include <stdlib.h>

#include "../../testdata/settle.h"

__attribute__((destructor)) static void stay(void)
{
	if (getenv("LD_PRELOAD") != NULL)
		settle(0, 300);
}
