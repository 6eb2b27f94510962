/* SPDX-License-Identifier: MIT */
/*
 * See json.h.  Sites are written one by one and each code location's frames are
 * turned into text once, so that 200 000 stacks need no tree in memory.
 */
#include "report/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/size_class.h"
#include "report/utf8.h"

enum number { NUMBER_UNSIGNED, NUMBER_SIGNED, NUMBER_SHORT, NUMBER_TIME };

/* A member of a struct of figures, by the name that JSON has for it. */
struct field {
	const char *key;
	size_t offset;
	enum number type;
};

#define COST(name, type)                             \
 {                                                   \
#  name, offsetof(struct costs, name), NUMBER_##type \
 }
#define TOTAL(key, name, type)                            \
 {                                                        \
  key, offsetof(struct model_totals, name), NUMBER_##type \
 }

static const struct field total_fields[] = {
	TOTAL("allocations", costs.allocations, UNSIGNED),
	TOTAL("allocated_bytes", costs.allocated_bytes, UNSIGNED),
	TOTAL("frees", costs.frees, UNSIGNED),
	TOTAL("freed_bytes", costs.freed_bytes, UNSIGNED),
	TOTAL("reallocations", costs.reallocations, UNSIGNED),
	TOTAL("temporary_allocations", costs.temporary_allocations, UNSIGNED),
	TOTAL("leaked_blocks", costs.leaked_blocks, SIGNED),
	TOTAL("leaked_bytes", costs.leaked_bytes, SIGNED),
	TOTAL("peak_bytes", costs.peak_bytes, SIGNED),
	TOTAL("peak_blocks", costs.peak_blocks, SIGNED),
	TOTAL("peak_time_s", peak_time_ns, TIME),
	TOTAL("peak_error_bytes", peak_error_bytes, SIGNED),
	TOTAL("unknown_frees", unknown_frees, UNSIGNED),
	TOTAL("double_frees", double_frees, UNSIGNED),
	TOTAL("dropped_events", dropped_events, UNSIGNED),
	TOTAL("unattributed_allocations", unattributed, UNSIGNED),
	TOTAL("truncated_stacks", truncated_stacks, SHORT),
	TOTAL("stacks", stacks, SHORT),
	TOTAL("threads", threads, UNSIGNED),
	TOTAL("peak_rss_bytes", peak_rss_bytes, SIGNED),
};

static const struct field cost_fields[] = {
	COST(allocations, UNSIGNED),
	COST(allocated_bytes, UNSIGNED),
	COST(peak_bytes, SIGNED),
	COST(peak_blocks, SIGNED),
	COST(leaked_bytes, SIGNED),
	COST(leaked_blocks, SIGNED),
	COST(temporary_allocations, UNSIGNED),
};

static const struct field slack_fields[] = {
	{ "slack_bytes", offsetof(struct costs, slack.peak_bytes), NUMBER_SIGNED },
	{ "slack_leaked_bytes", offsetof(struct costs, slack.leaked_bytes), NUMBER_SIGNED },
	{ "slack_allocated_bytes", offsetof(struct costs, slack.allocated_bytes), NUMBER_UNSIGNED },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int json_init(struct json *j, FILE *out, const struct model *model)
{
	*j = (struct json){
		.out = out,
		.model = model,
		.sampled = model->totals.sample_mean != 0,
		.slack = model->totals.slack_processes != 0,
		.frame_texts = calloc(model->location_count + 1, sizeof(*j->frame_texts)),
	};
	return j->frame_texts ? 0 : -ENOMEM;
}

int json_release(struct json *j)
{
	for (size_t i = 0; i <= j->model->location_count; i++)
		free(j->frame_texts[i]);
	free(j->frame_texts);
	j->frame_texts = NULL;
	return j->error;
}

void json_put(struct json *j, const char *json)
{
	fputs(json, j->out);
}

void json_string(struct json *j, const char *text)
{
	if (!text) {
		json_put(j, "null");
		return;
	}
	char *clean = utf8_clean(text, 0);
	cJSON *item = clean ? cJSON_CreateStringReference(clean) : NULL;
	char *printed = item ? cJSON_PrintUnformatted(item) : NULL;
	if (printed)
		json_put(j, printed);
	else
		j->error = -ENOMEM;
	cJSON_free(printed);
	cJSON_Delete(item);
	free(clean);
}

void json_text(struct json *j, uint32_t text_id)
{
	json_string(j, model_text(j->model, text_id));
}

void json_seconds(struct json *j, int64_t t_ns)
{
	char text[40];
	uint64_t ns = t_ns < 0 ? -(uint64_t)t_ns : (uint64_t)t_ns;
	int length = snprintf(text, sizeof(text), "%s%" PRIu64 ".%09" PRIu64, t_ns < 0 ? "-" : "",
			      ns / 1000000000, ns % 1000000000);
	while (text[length - 1] == '0' && text[length - 2] != '.')
		text[--length] = '\0';
	json_put(j, text);
}

void json_number_or_null(struct json *j, const char *key, uint64_t number)
{
	if (number)
		fprintf(j->out, ", \"%s\": %" PRIu64, key, number);
	else
		fprintf(j->out, ", \"%s\": null", key);
}

static __int128 read_field(const void *figures, const struct field *field)
{
	const void *place = (const char *)figures + field->offset;
	switch (field->type) {
	case NUMBER_UNSIGNED:
		return *(const uint64_t *)place;
	case NUMBER_SHORT:
		return *(const uint32_t *)place;
	case NUMBER_SIGNED:
	case NUMBER_TIME:
		break;
	}
	return *(const int64_t *)place;
}

/* The difference of two 64-bit numbers takes one bit more: the sign. */
static void put_number(struct json *j, __int128 number)
{
	fprintf(j->out, "%s%" PRIu64, number < 0 ? "-" : "",
		(uint64_t)(number < 0 ? -number : number));
}

static void put_fields(struct json *j, const struct field *fields, size_t count,
		       const void *figures, const void *less)
{
	for (size_t i = 0; i < count; i++) {
		__int128 number = read_field(figures, &fields[i]);
		if (less)
			number -= read_field(less, &fields[i]);
		fprintf(j->out, "%s\"%s\": ", i ? ", " : "", fields[i].key);
		if (fields[i].type == NUMBER_TIME)
			json_seconds(j, (int64_t)number);
		else
			put_number(j, number);
	}
}

void json_error(struct json *j, const char *key, double variance)
{
	fprintf(j->out, "%s\"%s\": ", j->errors++ ? ", " : "", key);
	if (isnan(variance))
		json_put(j, "null");
	else
		fprintf(j->out, "%.3f", sqrt(variance));
}

void json_begin_errors(struct json *j)
{
	json_put(j, ", \"standard_errors\": {");
	j->errors = 0;
}

/* Of the figures that json_costs writes. */
static void put_cost_errors(struct json *j, const struct cost_variances *v)
{
	json_error(j, "allocations", v->allocations);
	json_error(j, "allocated_bytes", v->allocated_bytes);
	json_error(j, "peak_bytes", v->peak_bytes);
	json_error(j, "peak_blocks", v->peak_blocks);
	json_error(j, "leaked_bytes", v->leaked_bytes);
	json_error(j, "leaked_blocks", v->leaked_blocks);
	json_error(j, "temporary_allocations", v->temporary_allocations);
}

/* Of a figure, or of the difference of two that have nothing to do with each other. */
static struct cost_variances variances(const struct costs *c, const struct costs *less)
{
	struct costs sum = *c;
	if (less)
		costs_add(&sum, less);
	return sum.variances;
}

static void put_slack(struct json *j, const struct costs *c, const struct costs *less)
{
	if (!j->slack)
		return;
	json_put(j, ", ");
	put_fields(j, slack_fields, COUNT(slack_fields), c, less);
}

void json_totals(struct json *j, const struct model_totals *t, const struct model_totals *less)
{
	json_put(j, "{");
	put_fields(j, total_fields, COUNT(total_fields), t, less);
	if (t->at_moment) {
		json_put(j, ", \"at_s\": ");
		json_seconds(j, t->at_ns);
	}
	put_slack(j, &t->costs, less ? &less->costs : NULL);
	if (j->sampled) {
		struct cost_variances v = variances(&t->costs, less ? &less->costs : NULL);
		json_begin_errors(j);
		put_cost_errors(j, &v);
		json_error(j, "frees", v.frees);
		json_error(j, "freed_bytes", v.freed_bytes);
		json_error(j, "reallocations", v.reallocations);
		json_put(j, "}");
	}
	json_put(j, "}");
}

static void put_costs(struct json *j, const struct costs *c, const struct costs *less, bool slack)
{
	put_fields(j, cost_fields, COUNT(cost_fields), c, less);
	if (slack)
		put_slack(j, c, less);
	if (!j->sampled)
		return;
	struct cost_variances v = variances(c, less);
	json_begin_errors(j);
	put_cost_errors(j, &v);
	json_put(j, "}");
}

void json_costs(struct json *j, const struct costs *c, const struct costs *less)
{
	put_costs(j, c, less, true);
}

static cJSON *string_or_null(const char *text)
{
	char *clean = text ? utf8_clean(text, 0) : NULL;
	cJSON *item = clean ? cJSON_CreateString(clean) : cJSON_CreateNull();
	free(clean);
	return item;
}

static cJSON *frame_object(const struct shown_frame *frame)
{
	char address[24];
	cJSON *object = cJSON_CreateObject();
	snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
	cJSON_AddItemToObject(object, "function", string_or_null(frame->function));
	cJSON_AddItemToObject(object, "file", string_or_null(frame->file));
	cJSON_AddItemToObject(object, "line",
			      frame->line ? cJSON_CreateNumber(frame->line) : cJSON_CreateNull());
	cJSON_AddItemToObject(object, "module", string_or_null(frame->module));
	cJSON_AddStringToObject(object, "address", address);
	cJSON_AddBoolToObject(object, "inlined", frame->inlined);
	return object;
}

/*
 * The frames of the location at `walk`, printed; `walk` is left at the next
 * location.
 */
static char *print_location(struct frame_walk *walk)
{
	struct shown_frame frame;
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	if (!memory)
		return NULL;
	do {
		if (!frame_walk_next(walk, &frame))
			break;
		cJSON *object = frame_object(&frame);
		char *printed = cJSON_PrintUnformatted(object);
		fprintf(memory, "%s%s", frame.index ? ", " : "", printed ? printed : "null");
		cJSON_free(printed);
		cJSON_Delete(object);
	} while (walk->next);
	if (fclose(memory)) {
		free(text);
		return NULL;
	}
	return text;
}

void json_frames(struct json *j, uint32_t node)
{
	const struct model *model = j->model;
	bool first = true;
	json_put(j, "[");
	for (; node && !j->error; node = model->nodes[node].parent) {
		uint32_t location = model->nodes[node].location;
		if (!location)
			continue;
		if (!j->frame_texts[location]) {
			struct frame_walk walk = frame_walk_start(model, node);
			j->frame_texts[location] = print_location(&walk);
		}
		if (!j->frame_texts[location]) {
			j->error = -ENOMEM;
			break;
		}
		json_put(j, first ? "" : ", ");
		json_put(j, j->frame_texts[location]);
		first = false;
	}
	json_put(j, "]");
}

static void put_stack(struct json *j, const struct model_stack *stack)
{
	json_put(j, "{");
	json_costs(j, &stack->costs, NULL);
	fprintf(j->out, ", \"truncated\": %s, \"frames\": ",
		stack->end == STACK_COMPLETE ? "false" : "true");
	json_frames(j, stack->node);
	json_put(j, "}");
}

void json_place(struct json *j, const struct site *site)
{
	json_put(j, "\"function\": ");
	json_text(j, site->function);
	json_put(j, ", \"file\": ");
	json_text(j, site->file);
	json_put(j, ", \"line\": ");
	if (site->line)
		fprintf(j->out, "%" PRIu32, site->line);
	else
		json_put(j, "null");
	json_put(j, ", \"module\": ");
	json_text(j, site->module);
}

static void put_thread(struct json *j, const struct model_thread *thread)
{
	fprintf(j->out, "\"process\": %" PRIu32 ", \"thread\": {\"number\": %" PRIu32 ", \"tid\": ",
		j->model->processes[thread->process].number, thread->rec.number);
	if (thread->rec.tid)
		fprintf(j->out, "%" PRId32, thread->rec.tid);
	else
		json_put(j, "null");
	json_put(j, ", \"name\": ");
	json_text(j, thread->name);
	fprintf(j->out, ", \"threads\": %" PRIu64 ", \"inherited\": %s}, ", thread->rec.holders,
		thread->rec.inherited ? "true" : "false");
}

static void put_part(struct json *j, const struct model_part *part)
{
	uint64_t most = size_class_most(part->key);
	if (part->kind == PART_THREAD) {
		put_thread(j, &j->model->threads[part->thread]);
		return;
	}
	fprintf(j->out, "\"size\": {\"min\": %" PRIu64 ", \"max\": ", part->key);
	if (most < UINT64_MAX)
		fprintf(j->out, "%" PRIu64 "}, ", most);
	else
		json_put(j, "null}, ");
}

void json_site(struct json *j, struct site_table *table, const struct site *site,
	       enum report_sort sort)
{
	json_put(j, "{");
	json_place(j, site);
	json_put(j, ", \"tag\": null, ");
	if (site->process)
		fprintf(j->out, "\"process\": %" PRIu32 ", ",
			j->model->processes[site->process - 1].number);
	if (site->part)
		put_part(j, &j->model->parts[site->part - 1]);
	/* Of threads and sizes it is not known. */
	put_costs(j, &site->costs, NULL, !site->part);
	json_put(j, ",\n     \"stacks\": [");
	sites_sort_stacks(table, site, j->model, sort, site->stack_count);
	for (uint32_t i = 0; i < site->stack_count; i++) {
		json_put(j, i ? ",\n      " : "\n      ");
		put_stack(j, &j->model->stacks[table->stacks[site->first_stack + i]]);
	}
	json_put(j, "]}");
}

static void put_block(struct json *j, const struct rec_error *rec)
{
	if (rec->has_block)
		fprintf(j->out,
			"{\"address\": \"0x%" PRIx64 "\", \"size\": %" PRIu64
			", \"offset\": %" PRId64 ", \"freed\": %s}",
			rec->block_address, rec->block_size,
			(int64_t)(rec->address - rec->block_address),
			rec->block_freed ? "true" : "false");
	else
		json_put(j, "null");
}

void json_found(struct json *j, const struct model_error *error)
{
	const struct rec_error *rec = &error->rec;
	json_put(j, "{\"kind\": ");
	json_string(j, error_kind_name(rec->kind));
	json_put(j, ", \"access\": ");
	json_string(j, error_access_name(rec->access));
	fprintf(j->out, ", \"address\": \"0x%" PRIx64 "\", \"block\": ", rec->address);
	put_block(j, rec);
	json_put(j, ",\n     \"stack\": ");
	json_frames(j, error->nodes[ERROR_STACK]);
	json_put(j, ",\n     \"allocated\": ");
	json_frames(j, error->nodes[ERROR_ALLOCATED]);
	json_put(j, ",\n     \"freed\": ");
	if (error->nodes[ERROR_FREED])
		json_frames(j, error->nodes[ERROR_FREED]);
	else
		json_put(j, "null");
	json_put(j, ",\n     \"source\": ");
	json_string(j, error_source_name(rec->source));
	json_number_or_null(j, "process",
			    error->process ? j->model->processes[error->process - 1].number : 0);
	fprintf(j->out, ", \"pid\": %d, \"t_s\": ", rec->pid);
	if (rec->t_ns >= 0)
		json_seconds(j, rec->t_ns);
	else
		json_put(j, "null");
	json_number_or_null(j, "thread", rec->thread);
	json_number_or_null(j, "allocated_thread", rec->allocated_thread);
	json_number_or_null(j, "freed_thread", rec->freed_thread);
	json_number_or_null(j, "corrupt_bytes", rec->corrupt_bytes);
	fprintf(j->out, ", \"count\": %" PRIu64 ", \"continued\": %s, \"by_realloc\": %s}",
		rec->count, rec->continued ? "true" : "false", rec->by_realloc ? "true" : "false");
}
