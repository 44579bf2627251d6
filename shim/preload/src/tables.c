/* tables.c: whose functions are stood before. A table is a const struct preload_table with its names. */
#include "../preload.h"

extern const struct preload_table nvrtc_table, hiprtc_table, levelzero_table, opencl_table;

const struct preload_table *const preload_tables[] = {
	&nvrtc_table,
	&hiprtc_table,
	&levelzero_table,
	&opencl_table,
	NULL,
};
