/* SPDX-License-Identifier: MIT */
/* Allocations that are not the program's, and that newcomers take for its leaks. */
#ifndef MEMTRACK_REPORT_KNOWN_STACKS_H
#define MEMTRACK_REPORT_KNOWN_STACKS_H

struct model;
struct model_stack;

struct known_stack {
	const char *label;  /* what suppressions may name it by */
	const char *remark; /* what to say of it, in parentheses */
};

/* Which one it is; NULL of any other. */
const struct known_stack *known_stack_find(const struct model *model,
					   const struct model_stack *stack);

#endif
