#include "kernstash.h"

const char *kernstash_version(void)
{
	return KERNSTASH_VERSION_TEXT;
}
