/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/names_short.h"
#include "report/plumbing.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/units.h"
#include "report/utf8.h"

void text_put(struct text *t, enum text_style style, const char *string)
{
	static const char *const codes[] = {
		[TEXT_PLAIN] = "",
		[TEXT_BOLD] = "\033[1m",
		[TEXT_DIM] = "\033[2m",
		[TEXT_WARN] = "\033[31m",
	};
	if (!t->color || style == TEXT_PLAIN || !*string) {
		fputs(string, t->out);
		return;
	}
	fprintf(t->out, "%s%s\033[0m", codes[style], string);
}

void text_spaces(struct text *t, size_t count)
{
	fprintf(t->out, "%*s", (int)count, "");
}

char *text_clean(struct text *t, const char *string)
{
	char *clean = utf8_clean(string ? string : "", UTF8_VISIBLE | (t->utf8 ? 0 : UTF8_ASCII));
	if (!clean) {
		t->error = -ENOMEM;
		clean = calloc(1, 1);
	}
	return clean;
}

void text_fit(struct text *t, enum text_style style, const char *clean, size_t columns)
{
	size_t width = utf8_width(clean), dots = utf8_width(t->ellipsis);
	if (width <= columns) {
		text_put(t, style, clean);
		return;
	}
	if (columns <= dots)
		return;
	/*
	 * The start says what it is, the end which one: a method's name, a
	 * file's extension.
	 */
	size_t tail = (columns - dots) / 2;
	size_t head_bytes = utf8_prefix(clean, columns - dots - tail);
	char *cut = NULL;
	if (asprintf(&cut, "%.*s%s%s", (int)head_bytes, clean, t->ellipsis,
		     clean + utf8_suffix(clean, tail)) < 0) {
		t->error = -ENOMEM;
		return;
	}
	text_put(t, style, cut);
	free(cut);
}

void text_words(struct text *t, enum text_style style, const char *clean, size_t column,
		size_t indent)
{
	size_t start = column;
	while (*clean) {
		size_t length = strcspn(clean, " ");
		char *word = strndup(clean, length);
		size_t width = word ? utf8_width(word) : 0;
		if (!word)
			t->error = -ENOMEM;
		if (column > start && width + 1 > t->width - column) {
			fputc('\n', t->out);
			text_spaces(t, indent);
			start = column = indent;
		} else if (column > start) {
			fputc(' ', t->out);
			column++;
		}
		text_put(t, style, word ? word : "");
		free(word);
		column += width;
		if (column > t->width)
			column = t->width;
		clean += length + (clean[length] == ' ');
	}
	fputc('\n', t->out);
}

void text_paragraph(struct text *t, const char *label, enum text_style style, const char *body)
{
	size_t label_width = utf8_width(label);
	size_t indent = label_width < TEXT_LABEL_WIDTH ? TEXT_LABEL_WIDTH : label_width + 1;
	char *clean = text_clean(t, body);
	text_put(t, TEXT_BOLD, label);
	text_spaces(t, indent - label_width);
	text_words(t, style, clean, indent, indent);
	free(clean);
}

const char *text_error(const struct text *t, char *cell, double value, double variance)
{
	cell[0] = '\0';
	if (t->sampled && !isnan(variance) && (value != 0 || variance != 0)) {
		cell[0] = ' ';
		units_error(cell + 1, value, variance, t->utf8);
	}
	return cell;
}

static char *print_place(struct text *t, const char *file, uint32_t line)
{
	char *place = NULL;
	int length =
		line ? asprintf(&place, "%s:%" PRIu32, t->full_paths ? file : path_base(file), line)
		     : asprintf(&place, "%s", t->full_paths ? file : path_base(file));
	if (length < 0) {
		t->error = -ENOMEM;
		return NULL;
	}
	return place;
}

struct text_label text_label_make(struct text *t, const char *name, const char *place)
{
	return (struct text_label){ text_clean(t, name), text_clean(t, place) };
}

static struct text_label function_label(struct text *t, const char *function, const char *place)
{
	struct text_label label = text_label_make(t, function, place);
	if (!t->full_names)
		names_shorten(label.name, t->ellipsis);
	return label;
}

/*
 * A function without a file is placed by its module; without a name it is
 * module+0xoffset.
 */
static struct text_label code_label(struct text *t, const char *function, const char *file,
				    uint32_t line, const char *module, uint64_t address)
{
	char *made = NULL;
	struct text_label label;
	const char *module_name = module ? (t->full_paths ? module : path_base(module)) : NULL;
	if (!function) {
		if (asprintf(&made, "%s%s0x%" PRIx64, module ? module_name : "", module ? "+" : "",
			     address) < 0)
			made = NULL;
		label = text_label_make(t, made, "");
	} else if (file) {
		made = print_place(t, file, line);
		label = function_label(t, function, made);
	} else {
		if (!module || asprintf(&made, "[%s]", module_name) < 0)
			made = NULL;
		label = function_label(t, function, made);
	}
	free(made);
	return label;
}

bool text_is_startup(const struct shown_frame *frame)
{
	return (frame->module && plumbing_module(frame->module)) ||
	       (frame->function && strcmp(frame->function, "_start") == 0);
}

void text_remark(struct text *t, size_t indent, enum text_style style, const char *remark)
{
	text_spaces(t, indent);
	text_put(t, style, t->ellipsis);
	fputc(' ', t->out);
	text_put(t, style, remark);
	fputc('\n', t->out);
}

void text_repetition(struct text *t, size_t period, size_t times, size_t indent)
{
	char count[UNITS_TEXT], remark[96], frames[32] = "frame";
	if (period > 1)
		snprintf(frames, sizeof(frames), "%zu frames", period);
	snprintf(remark, sizeof(remark), "the %s above %s more times", frames,
		 units_count(count, times - 1));
	text_remark(t, indent, TEXT_DIM, remark);
}

const char *text_end_reason(enum stack_end end)
{
	switch (end) {
	case STACK_DEPTH:
		return "cut off: the stack is deeper than --depth";
	case STACK_NO_UNWIND_INFO:
		return "cut off: no unwind information beyond this point";
	case STACK_UNREADABLE:
		return "cut off: the next frame lies in unreadable memory";
	case STACK_BAD_FRAME:
		return "cut off: no plausible frame follows";
	case STACK_UNATTRIBUTED:
		return "no stack: there was no room left to record one";
	case STACK_COMPLETE:
		break;
	}
	return "";
}

size_t text_room(const struct text *t, size_t column, size_t least)
{
	if (t->width == SIZE_MAX)
		return SIZE_MAX;
	return t->width > column + least ? t->width - column : least;
}

struct text_label text_frame_label(struct text *t, const struct shown_frame *frame)
{
	return code_label(t, frame->function, frame->file, frame->line, frame->module,
			  frame->address);
}

static struct text_label process_label(struct text *t, const struct site *site)
{
	const struct model_process *process = &t->model->processes[site->process - 1];
	const char *executable = model_text(t->model, process->executable);
	char *name = NULL;
	if (asprintf(&name, "%" PRIu32 ": %s (pid %d)", process->number,
		     executable ? (t->full_paths ? executable : path_base(executable)) : "?",
		     process->rec.pid) < 0)
		name = NULL;
	struct text_label label = text_label_make(t, name, "");
	free(name);
	return label;
}

struct text_label text_site_label(struct text *t, const struct site *site)
{
	const char *file = model_text(t->model, site->file);
	const char *module = model_text(t->model, site->module);
	enum report_by by = t->report->options->by;
	if (site->process)
		return process_label(t, site);
	if (by == REPORT_BY_TAG)
		return text_label_make(t, "(no tag)", "");
	if (site->part)
		return text_part_label(t, site);
	if (!site->function && !site->module && !site->file && !site->address)
		return text_label_make(t, "(no stack known)", "");
	if (by == REPORT_BY_FILE && site->file)
		return text_label_make(t, t->full_paths ? file : path_base(file), "");
	if (by == REPORT_BY_MODULE)
		return text_label_make(t, t->full_paths ? module : path_base(module), "");
	if (!site->function && !site->address && module) /* by function or file, not known */
		return text_label_make(t, "(unknown)", t->full_paths ? module : path_base(module));
	return code_label(t, model_text(t->model, site->function), file, site->line, module,
			  site->address);
}

/* "::insert" of "server::Cache<...>::insert": as many scopes as fit into the columns, or NULL. */
static const char *fitting_scopes(const char *name, size_t columns)
{
	const char *first = name + utf8_suffix(name, columns);
	int depth = 0;
	for (const char *p = name; *p; p++) {
		depth += strchr("<({[", *p) != NULL;
		depth -= strchr(">)}]", *p) != NULL;
		if (depth == 0 && p > name && p >= first && strncmp(p, "::", 2) == 0)
			return p;
	}
	return NULL;
}

static char *fit_short_name(const struct text *t, const char *name, size_t columns)
{
	size_t dots = utf8_width(t->ellipsis);
	char *short_name = strdup(name), *fitting = NULL;
	if (!short_name)
		return NULL;
	names_shorten(short_name, t->ellipsis);
	const char *scopes = utf8_width(short_name) > columns && columns > dots
				     ? fitting_scopes(short_name, columns - dots)
				     : NULL;
	if (!scopes)
		return short_name;
	if (asprintf(&fitting, "%s%s", t->ellipsis, scopes) < 0)
		fitting = NULL;
	free(short_name);
	return fitting;
}

/* Template arguments and parameters go first when a name is too long, then the outer scopes. */
static void fit_name(struct text *t, enum text_style style, const char *name, size_t columns)
{
	char *fitting = utf8_width(name) > columns ? fit_short_name(t, name, columns) : NULL;
	text_fit(t, style, fitting ? fitting : name, columns);
	free(fitting);
}

void text_label_put(struct text *t, enum text_style style, const struct text_label *label,
		    size_t columns)
{
	size_t place = utf8_width(label->place);
	if (columns == SIZE_MAX) {
		text_put(t, style, label->name);
	} else if (place == 0 || place + 10 > columns) {
		/* No room for both: the name matters more. */
		fit_name(t, style, label->name, columns);
		return;
	} else {
		fit_name(t, style, label->name, columns - place - 2);
	}
	if (place) {
		text_spaces(t, 2);
		text_put(t, TEXT_DIM, label->place);
	}
}

void text_label_release(struct text_label *label)
{
	free(label->name);
	free(label->place);
}
