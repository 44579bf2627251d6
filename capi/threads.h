/* threads.h: the threads of this library. */
#ifndef KS_THREADS_H
#define KS_THREADS_H

/* How many there are: each counts itself. */
int ks_threads(void);

#endif
