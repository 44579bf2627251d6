/* tables.c: whose functions are stood before. A table is a const struct preload_table with its names. */
#include "../../nvjitlink/versions.h"
#include "../preload.h"

#define DECLARE(v) extern const struct preload_table nvjitlink##v##_table;
#define ENTRY(v) &nvjitlink##v##_table,

extern const struct preload_table nvrtc_table, hiprtc_table, nvjitlink_table, nvvm_table, levelzero_table, opencl_table;
NVJITLINK_VERSIONS(DECLARE)

const struct preload_table *const preload_tables[] = {
	&nvrtc_table,
	&hiprtc_table,
	&nvjitlink_table,
	NVJITLINK_VERSIONS(ENTRY)
	&nvvm_table,
	&levelzero_table,
	&opencl_table,
	NULL,
};
