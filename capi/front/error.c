#include "front.h"

#include <stdarg.h>
#include <stdio.h>

static __thread char detail[ks_detail_size];

int ks_fail(int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(detail, sizeof detail, format, args);
	va_end(args);
	return status;
}

int ks_said(const ks_call *call)
{
	return call->status == KERNSTASH_OK ? KERNSTASH_OK : ks_fail(call->status, "%s", call->detail);
}

int ks_ask(enum ks_entry entry, ks_call *call)
{
	call->status = KERNSTASH_INTERNAL;
	call->detail[0] = '\0';
	if (!ks_enter(entry, call))
		return ks_fail(KERNSTASH_UNAVAILABLE, "%s", ks_usable() ? "no memory for a thread" : ks_why_not_loaded());
	return ks_said(call);
}

const char *kernstash_detail(void) { return detail; }

const char *kernstash_version(void) { return KERNSTASH_VERSION_TEXT; }

const char *kernstash_strerror(int status)
{
	static const char *const texts[] = {
		[-KERNSTASH_OK] = "success",
		[-KERNSTASH_INVALID] = "invalid argument",
		[-KERNSTASH_NO_KEY] = "neither source nor library version given",
		[-KERNSTASH_NOT_FOUND] = "not found",
		[-KERNSTASH_NOT_STORED] = "not stored",
		[-KERNSTASH_BUILD_FAILED] = "build failed",
		[-KERNSTASH_CYCLE] = "build waits for itself",
		[-KERNSTASH_SETTING] = "setting that makes no sense",
		[-KERNSTASH_DEVICE] = "device cannot be identified",
		[-KERNSTASH_TIMEOUT] = "not done in time",
		[-KERNSTASH_NO_MEMORY] = "out of memory",
		[-KERNSTASH_UNAVAILABLE] = "kernstash is not available in this process",
		[-KERNSTASH_CLOSED] = "cache is closed",
		[-KERNSTASH_INTERNAL] = "internal error",
	};

	return status <= 0 && status >= KERNSTASH_INTERNAL ? texts[-status] : "unknown status";
}
