/* SPDX-License-Identifier: MIT */
/* See known_stacks.h. */
#include "report/known_stacks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"

static bool is_libstdcxx(const struct shown_frame *frame)
{
	static const char name[] = "libstdc++.so.6";
	const char *base = frame->module ? path_base(frame->module) : "";
	size_t length = strlen(name);
	return strncmp(base, name, length) == 0 && (base[length] == '\0' || base[length] == '.');
}

/* The loader's function that runs a library's start-up code; nameless in a stripped loader. */
static bool is_call_init(const struct shown_frame *frame)
{
	const char *base = frame->module ? path_base(frame->module) : "";
	return frame->function ? strcmp(frame->function, "call_init") == 0
			       : strncmp(base, "ld-linux", strlen("ld-linux")) == 0;
}

/* One block in each process, of the size of libstdc++'s pool: until GCC 12, and since. */
static bool has_pool_size(const struct model *model, const struct costs *costs)
{
	static const uint64_t sizes[] = { 72704, 73728 };
	uint64_t count = costs->allocations;
	if (count == 0 || count > model->totals.processes)
		return false;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (costs->allocated_bytes == count * sizes[i])
			return true;
	}
	return false;
}

/* libstdc++'s own code, called by the loader. */
static bool is_emergency_pool(const struct model *model, const struct model_stack *stack)
{
	struct frame_walk walk = frame_walk_start(model, stack->node);
	struct shown_frame frame;
	bool in_library = false;
	if (!has_pool_size(model, &stack->costs))
		return false;
	while (frame_walk_next(&walk, &frame)) {
		if (!is_libstdcxx(&frame))
			return in_library && is_call_init(&frame);
		in_library = true;
	}
	return false;
}

const struct known_stack *known_stack_find(const struct model *model,
					   const struct model_stack *stack)
{
	static const struct known_stack emergency_pool = {
		.label = "libstdc++: emergency pool for exceptions",
		.remark = "(libstdc++: emergency pool for exceptions, in every C++ program)",
	};
	return is_emergency_pool(model, stack) ? &emergency_pool : NULL;
}
