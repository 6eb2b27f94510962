/* SPDX-License-Identifier: MIT */
/* A time in a run, as options name it. */
#ifndef MEMTRACK_REPORT_RUN_TIME_H
#define MEMTRACK_REPORT_RUN_TIME_H

#include <stdint.h>

struct run_time {
	enum run_time_kind {
		RUN_TIME_NONE,
		RUN_TIME_NS,	/* since the start */
		RUN_TIME_SHARE, /* of the duration, in millionths */
	} kind;
	int64_t value;
};

#endif
