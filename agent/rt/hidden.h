/* SPDX-License-Identifier: MIT */
/* For data of the library's own that is declared in a header: code elsewhere in the library then takes it for what it is,
 * and reaches it directly, not by way of an address that it loads first. */
#ifndef MEMTRACK_AGENT_RT_HIDDEN_H
#define MEMTRACK_AGENT_RT_HIDDEN_H

#define HIDDEN __attribute__((visibility("hidden")))

#endif
