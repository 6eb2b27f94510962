/* SPDX-License-Identifier: MIT */
/* The running processes that one could look into, for completion. */
#ifndef MEMTRACK_CMD_PROCESSES_H
#define MEMTRACK_CMD_PROCESSES_H

#include <stdio.h>

/* One a line, as /proc has them: PID, tab, name.  Those of this user; of everybody for root.  Kernel threads and this
 * process are left out. */
void processes_list(FILE *out);

#endif
