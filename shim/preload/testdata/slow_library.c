/* slow_library.c: in the place of libkernstash.so.1; it takes its time to be opened. */
#include <unistd.h>

__attribute__((constructor)) static void slow(void) { sleep(1); }
