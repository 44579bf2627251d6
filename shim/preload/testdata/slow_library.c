/* slow_library.c: in the place of libkernstash.so.1; it is not open before it reads a
 * byte from the second descriptor of SLOW_LIBRARY, after it has written one to the first. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void slow(void)
{
	const char *descriptors = getenv("SLOW_LIBRARY");
	int to, from;
	char byte;
	if (descriptors != NULL && sscanf(descriptors, "%d %d", &to, &from) == 2 && write(to, "", 1) == 1)
		(void)!read(from, &byte, 1);
}
