/* SPDX-License-Identifier: MIT */
/* The one lock of the agent: held while the segment or a table grows, never on the steady path.  Whoever cannot
 * have it (see rt/lock.h) does without the growth and counts what that costs. */
#ifndef MEMTRACK_AGENT_GROWTH_H
#define MEMTRACK_AGENT_GROWTH_H

#include "agent/rt/hidden.h"
#include "agent/rt/lock.h"

extern HIDDEN struct rt_lock growth_lock;

#endif
