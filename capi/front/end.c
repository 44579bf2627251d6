#include "front.h"

#include <time.h>

/* What was built for a request, and what was counted of it, a thread of Go's writes a moment later. A process that ends in that moment waits for it
 * here: less than a millisecond, but for a machine whose processors others have. It calls nothing of Go's, and takes no lock: exit may be called in a
 * handler of a signal, and in whatever a thread does. Who ends by _exit or by a signal does not come here. */
enum { first = 50000, longest = 1000000, most = 100 * 1000000 }; /* nanoseconds */

__attribute__((destructor)) static void wait_until_written(void)
{
	const struct ks_go *go = ks_loaded();
	struct timespec pause = {0, first};

	if (go == NULL) /* also in a child of fork, where nobody would write */
		return;
	for (long waited = 0; waited < most && atomic_load(go->unwritten) > 0; waited += pause.tv_nsec) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < longest)
			pause.tv_nsec *= 2;
	}
}
