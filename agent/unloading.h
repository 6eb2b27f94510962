/* SPDX-License-Identifier: MIT */
/* Libraries that go away: what a hook of dlclose does. */
#ifndef MEMTRACK_AGENT_UNLOADING_H
#define MEMTRACK_AGENT_UNLOADING_H

/* The next dlclose.  While libraries are being unloaded nothing cached about addresses is trusted; afterwards what has gone
 * is marked. */
int unloading_close(void *handle);

#endif
