/* SPDX-License-Identifier: MIT */
/* What the renderers share. */
#include "report/render.h"

#include <string.h>

#include "report/model.h"
#include "report/parts.h"

struct frame_walk frame_walk_start(const struct model *model, uint32_t node)
{
	return (struct frame_walk){ .model = model, .node = node };
}

bool frame_walk_next(struct frame_walk *walk, struct shown_frame *frame)
{
	const struct model *model = walk->model;
	/* A node without a location only marks that frames are missing. */
	while (walk->node && !model->nodes[walk->node].location)
		walk->node = model->nodes[walk->node].parent;
	if (!walk->node)
		return false;
	uint32_t id = model->nodes[walk->node].location;
	const struct model_location *location = &model->locations[id];
	*frame = (struct shown_frame){ .location = id,
				       .index = walk->next,
				       .address = location->address };
	if (location->module)
		frame->module = model_text(model, model->modules[location->module].path);
	if (location->frame_count) {
		const struct model_frame *names =
			&model->frames[location->first_frame + walk->next];
		frame->function = model_text(model, names->function);
		frame->file = model_text(model, names->file);
		frame->line = names->line;
		frame->inlined = names->inlined;
	}
	if (++walk->next >= location->frame_count) {
		walk->node = model->nodes[walk->node].parent;
		walk->next = 0;
	}
	return true;
}

const struct model_process *report_single_process(const struct model *model)
{
	const struct model_process *single = NULL;
	for (size_t i = 0; i < model->process_count; i++) {
		if (!model->processes[i].selected)
			continue;
		if (single)
			return NULL;
		single = &model->processes[i];
	}
	return single;
}

const struct model_process *report_largest_unselected(const struct model *model)
{
	const struct model_process *largest = NULL;
	for (size_t i = 0; i < model->process_count; i++) {
		if (!largest || model->processes[i].rec.peak_bytes > largest->rec.peak_bytes)
			largest = &model->processes[i];
	}
	return largest && !largest->selected && model->file_count == 1 ? largest : NULL;
}

bool report_has_slack(const struct report *report)
{
	return report->model->totals.slack_processes && !is_by_part(report->options->by);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}
