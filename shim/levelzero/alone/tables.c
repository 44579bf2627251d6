/* tables.c: the Level Zero shim by itself. */
#include "../../preload/preload.h"

extern const struct preload_table levelzero_table;

const struct preload_table *const preload_tables[] = {&levelzero_table, NULL};
