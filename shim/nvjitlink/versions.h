/* versions.h: nvJitLink's functions have a name for each version of its header besides their own; a header calls
 * those of its own version. */
#pragma once

#define NVJITLINK_VERSIONS(F) \
	F(_12_0) F(_12_1) F(_12_2) F(_12_3) F(_12_4) F(_12_5) F(_12_6) F(_12_7) F(_12_8) F(_12_9) \
	F(_13_0) F(_13_1) F(_13_2) F(_13_3) F(_13_4)
