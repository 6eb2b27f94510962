/* SPDX-License-Identifier: MIT */
/*
 * See filter.h.  Each regex runs once for each distinct text, each node is
 * looked at once.
 */
#include "report/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/pattern.h"

static int add(struct filter_set *set, enum filter_kind kind, const char *regex, bool exclude,
	       struct diag *diag)
{
	if (set->count == FILTERS_MAX)
		return diag_set(diag, -EINVAL, "more than %d filters are given", FILTERS_MAX);
	struct filter *filter = &set->filters[set->count];
	*filter = (struct filter){ .kind = kind };
	int error = pattern_compile(&filter->regex, regex, diag);
	if (error)
		return error;
	uint64_t bit = (uint64_t)1 << set->count++;
	if (exclude)
		set->drop |= bit;
	else
		set->keep |= bit;
	return 0;
}

int filter_add_function(struct filter_set *set, const char *regex, bool exclude, struct diag *diag)
{
	return add(set, FILTER_FUNCTION, regex, exclude, diag);
}

int filter_add(struct filter_set *set, const char *expression, bool exclude, struct diag *diag)
{
	static const char *const kinds[] = {
		[FILTER_FUNCTION] = "function",
		[FILTER_FILE] = "file",
		[FILTER_MODULE] = "module",
		[FILTER_TAG] = "tag",
	};
	size_t length = strcspn(expression, "~");
	if (expression[length] == '~') {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (strlen(kinds[i]) == length &&
			    strncmp(expression, kinds[i], length) == 0)
				return add(set, (enum filter_kind)i, expression + length + 1,
					   exclude, diag);
		}
	}
	diag_set(diag, -EINVAL, "bad filter '%s': not of the form KIND~REGEX", expression);
	diag_hint(diag, "KIND is function, file, module or tag, as in 'function~^parse_'");
	return -EINVAL;
}

static bool text_matches(struct filter *filter, const struct model *model, uint32_t text)
{
	if (!text)
		return false;
	if (!filter->known[text])
		filter->known[text] =
			regexec(&filter->regex, model_text(model, text), 0, NULL, 0) == 0 ? 2 : 1;
	return filter->known[text] == 2;
}

static bool location_matches(struct filter *filter, const struct model *model,
			     const struct model_location *location)
{
	if (filter->kind == FILTER_TAG)
		return false; /* recordings hold none */
	if (filter->kind == FILTER_MODULE)
		return location->module &&
		       text_matches(filter, model, model->modules[location->module].path);
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct model_frame *frame = &model->frames[location->first_frame + i];
		if (text_matches(filter, model,
				 filter->kind == FILTER_FILE ? frame->file : frame->function))
			return true;
	}
	return false;
}

static void match_locations(struct filter_set *set, const struct model *model, uint64_t *bits)
{
	for (size_t id = 1; id <= model->location_count; id++) {
		for (size_t i = 0; i < set->count; i++) {
			if (location_matches(&set->filters[i], model, &model->locations[id]))
				bits[id] |= (uint64_t)1 << i;
		}
	}
}

int filter_match(struct filter_set *set, const struct model *model)
{
	if (set->count == 0)
		return 0;
	uint64_t *location_bits = calloc(model->location_count + 1, sizeof(*location_bits));
	set->node_bits = calloc(model->node_count + 1, sizeof(*set->node_bits));
	int error = location_bits && set->node_bits ? 0 : -ENOMEM;
	for (size_t i = 0; !error && i < set->count; i++) {
		set->filters[i].known = calloc(model->strings.count + 1, 1);
		error = set->filters[i].known ? 0 : -ENOMEM;
	}
	if (!error) {
		match_locations(set, model, location_bits);
		/* Parents come before their children. */
		for (size_t id = 1; id <= model->node_count; id++)
			set->node_bits[id] = set->node_bits[model->nodes[id].parent] |
					     location_bits[model->nodes[id].location];
	}
	free(location_bits);
	return error;
}

bool filter_passes(const struct filter_set *set, uint32_t node)
{
	if (set->count == 0)
		return true;
	return (set->node_bits[node] & (set->keep | set->drop)) == set->keep;
}

void filter_release(struct filter_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		regfree(&set->filters[i].regex);
		free(set->filters[i].known);
	}
	free(set->node_bits);
	*set = (struct filter_set){ 0 };
}
