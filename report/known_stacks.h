/* SPDX-License-Identifier: MIT */
/* Allocations that are not the program's, and that newcomers take for its leaks. */
#ifndef MEMTRACK_REPORT_KNOWN_STACKS_H
#define MEMTRACK_REPORT_KNOWN_STACKS_H

struct model;
struct model_stack;

/* What to say of such a stack; NULL of any other. */
const char *known_stack_remark(const struct model *model, const struct model_stack *stack);

#endif
