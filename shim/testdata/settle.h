/*
 * settle.h: waits for what the library stores and tells beside a program that ends then.
 *
 * What the library was asked is in the report (KERNSTASH_REPORT), what it stored in the
 * trace (KERNSTASH_TRACE=disk, KERNSTASH_TRACE_FILE). Without a trace only the report is
 * looked at, without a report nothing is.
 */
#ifndef SETTLE_H
#define SETTLE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lines of a file with both texts; its length is added. */
static inline long settle_lines(const char *path, const char *one, const char *two, long *length)
{
	FILE *f = path == NULL || *path == 0 ? NULL : fopen(path, "r");
	char line[16384];
	long n = 0;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, one) != NULL && strstr(line, two) != NULL;
	if (f != NULL) {
		*length += ftell(f);
		fclose(f);
	}
	return n;
}

/* Returns when as many requests were told of as were asked at least, when what this process
 * compiled is stored, or is not to be, and when nothing has changed for so many
 * milliseconds; where what was compiled is not seen to be stored, or where there is a report
 * and nothing was told yet, for two seconds. After three minutes in any case. */
static inline void settle(long asked, int quiet)
{
	enum { PAUSE = 10, ENOUGH = 2000 };
	const char *report = getenv("KERNSTASH_REPORT"), *trace = getenv("KERNSTASH_TRACE_FILE");
	bool reported = report != NULL && *report != 0, traced = trace != NULL && *trace != 0;
	char told_by[32], traced_by[32];
	long before = -1;
	int still = 0;
	snprintf(told_by, sizeof(told_by), "\"pid\":%ld,", (long)getpid());
	snprintf(traced_by, sizeof(traced_by), " pid=%ld", (long)getpid());
	for (int i = 0; i < 180000 / PAUSE; i++) {
		long length = 0;
		long told = settle_lines(report, "\"event\":\"asked\"", "", &length);
		long compiled = settle_lines(report, "\"outcome\":\"compiled\"", told_by, &length);
		long stored = 0;
		if (traced) {
			stored += settle_lines(trace, "msg=put ", traced_by, &length);
			stored += settle_lines(trace, "msg=\"not stored\" ", traced_by, &length);
		}
		still = length == before ? still + PAUSE : 0;
		before = length;
		if (told >= asked && still >= ((reported && told == 0) || (traced && stored < compiled) ? ENOUGH : quiet))
			return;
		usleep(PAUSE * 1000);
	}
}

#endif
