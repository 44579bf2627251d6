#include "calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "load.h"

static __thread char detail[ks_detail_size];

int ks_fail(int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(detail, sizeof detail, format, args);
	va_end(args);
	return status;
}

int ks_ask(enum ks_entry entry, ks_call *call)
{
	call->status = KERNSTASH_INTERNAL;
	call->detail[0] = '\0';
	if (!ks_enter(entry, call))
		return ks_fail(KERNSTASH_UNAVAILABLE, "%s", ks_usable() ? "no memory for a thread" : ks_why_not_loaded());
	if (call->status != KERNSTASH_OK)
		return ks_fail(call->status, "%s", call->detail);
	return KERNSTASH_OK;
}

const char *kernstash_detail(void)
{
	return detail;
}

const char *kernstash_strerror(int status)
{
	switch (status) {
	case KERNSTASH_OK:
		return "success";
	case KERNSTASH_INVALID:
		return "invalid argument";
	case KERNSTASH_NO_KEY:
		return "neither source nor library version given";
	case KERNSTASH_NOT_FOUND:
		return "not found";
	case KERNSTASH_NOT_STORED:
		return "not stored";
	case KERNSTASH_BUILD_FAILED:
		return "build failed";
	case KERNSTASH_CYCLE:
		return "build waits for itself";
	case KERNSTASH_SETTING:
		return "setting that makes no sense";
	case KERNSTASH_DEVICE:
		return "device cannot be identified";
	case KERNSTASH_TIMEOUT:
		return "not done in time";
	case KERNSTASH_NO_MEMORY:
		return "out of memory";
	case KERNSTASH_UNAVAILABLE:
		return "kernstash is not available in this process";
	case KERNSTASH_CLOSED:
		return "cache is closed";
	case KERNSTASH_INTERNAL:
		return "internal error";
	}
	return "unknown status";
}
