/* SPDX-License-Identifier: MIT */
/* Picks the processor's part; the contract is in each arch_*.h and the same for all. */
#ifndef MEMTRACK_AGENT_ARCH_H
#define MEMTRACK_AGENT_ARCH_H

#if defined(__x86_64__)
# include "agent/arch_x86_64.h"
#else
# error "memtrack's agent needs a port to this processor: see agent/arch_x86_64.h"
#endif

#endif
