/*
 * narrow.h: Go begins with one processor, however many there are.
 */
#ifndef KS_NARROW_H
#define KS_NARROW_H

/* Has Go's first thread, which begins with function and argument, see one processor.
 * Returns what it is to begin with in their place. */
void *(*ks_narrow(void *(*function)(void *), void **argument))(void *);

/* Lets the calling thread, Go's first, and those that begin from now on, run on all
 * processors that the host's thread could. Returns how many; 0: Go has seen them all. */
int ks_widen(void);

#endif
