/* slow_library.c: in the place of libkernstash.so.1; it takes its time to be opened, after it
 * has said so to the descriptor SLOW_LIBRARY. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void slow(void)
{
	const char *to = getenv("SLOW_LIBRARY");
	if (to != NULL && write(atoi(to), "", 1) == 1)
		sleep(1);
}
