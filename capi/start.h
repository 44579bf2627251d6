/*
 * start.h: what Go calls of libkernstash.so.1, which has said where it is by then.
 */
#ifndef KS_START_H
#define KS_START_H

#include "internal.h"

const char *ks_library_path(void); /* of libkernstash.so.1 */
void ks_post(ks_ticket *t, uint32_t action);
void ks_wake(uint32_t event);
ks_blob *ks_blob_new(const kernstash_artifact *a);
ks_blob *ks_blob_use(ks_blob *b);
void ks_blob_unuse(ks_blob *b);

/* How many threads of this library's there are: each counts itself. */
int ks_threads(void);

/* Gives the pages of this library's code back, which most of the time nobody needs. */
void ks_let_pages_go(void);

#endif
