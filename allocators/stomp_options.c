/* SPDX-License-Identifier: MIT */
/* The options of stomp, checked and made plain: the library in the program has a trivial parser. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/allocators.h"
#include "report/units.h"

const char allocator_stomp_known[] =
	"under, align=N, quarantine=SIZE, sample=N, min=SIZE, max=SIZE, continue, guard=METHOD, "
	"and last function=REGEX";

#define FUNCTION "function="

enum kind { ALONE, NUMBER, SIZE, POWER, WAY };

static const struct known {
	const char *name;
	enum kind kind;
	uint64_t least, most;
} known[] = {
	{ "under", ALONE, 0, 0 },
	{ "align", POWER, 1, 4096 },
	{ "quarantine", SIZE, 0, INT64_MAX },
	{ "sample", NUMBER, 1, UINT32_MAX },
	{ "min", SIZE, 0, INT64_MAX },
	{ "max", SIZE, 0, INT64_MAX },
	{ "continue", ALONE, 0, 0 },
	{ "guard", WAY, 0, 0 }, /* a switch for tests */
};

static const char *const ways[] = { "madvise", "mprotect", "canary" };

static const struct known *find(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].name) == length && strncmp(known[i].name, text, length) == 0)
			return &known[i];
	return NULL;
}

static bool is_way(const char *value)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(value, ways[i]) == 0)
			return true;
	return false;
}

static bool is_plain(const char *value)
{
	return *value && strspn(value, "0123456789") == strlen(value);
}

static int wrong(const struct known *o, const char *value, struct diag *diag)
{
	if (o->kind == ALONE)
		return diag_set(diag, -EINVAL, "stomp: option '%s' takes no value", o->name);
	if (o->kind == WAY)
		return diag_set(diag, -EINVAL,
				"stomp: guard='%s' is none of madvise, mprotect, canary", value);
	if (o->kind == SIZE)
		return diag_set(diag, -EINVAL, "stomp: %s='%s' is no size such as 4096, 64K or 1G",
				o->name, value);
	return diag_set(diag, -EINVAL, "stomp: %s='%s' is no %s from %" PRIu64 " to %" PRIu64,
			o->name, value, o->kind == POWER ? "power of two" : "number", o->least,
			o->most);
}

/* Sizes that are guarded. */
struct range {
	uint64_t min, max;
};

/* One option, at `text`, `length` bytes of it. */
static int put(FILE *out, const char *text, size_t length, struct range *range, struct diag *diag)
{
	size_t name = strcspn(text, "=");
	const struct known *o = find(text, name < length ? name : length);
	char value[64] = "";
	uint64_t number = 0;

	if (!o) {
		diag_set(diag, -EINVAL, "stomp has no option '%.*s'; there are %s", (int)length,
			 text, allocator_stomp_known);
		return -EINVAL;
	}
	if (name < length)
		snprintf(value, sizeof(value), "%.*s", (int)(length - name - 1), text + name + 1);
	if (o->kind == ALONE) {
		if (name < length)
			return wrong(o, value, diag);
		fputs(o->name, out);
		return 0;
	}
	if (o->kind == WAY) {
		if (!is_way(value))
			return wrong(o, value, diag);
		fprintf(out, "%s=%s", o->name, value);
		return 0;
	}
	if ((o->kind != SIZE && !is_plain(value)) || units_parse_size(value, &number) ||
	    number < o->least || number > o->most || (o->kind == POWER && (number & (number - 1))))
		return wrong(o, value, diag);
	if (strcmp(o->name, "min") == 0)
		range->min = number;
	if (strcmp(o->name, "max") == 0)
		range->max = number;
	fprintf(out, "%s=%" PRIu64, o->name, number);
	return 0;
}

/* An expression may have commas and colons: it is all the rest. */
static int take_function(const char **text, char **function, struct diag *diag)
{
	if (strncmp(*text, FUNCTION, strlen(FUNCTION)) != 0)
		return 0;
	*text += strlen(FUNCTION);
	if (!**text)
		return diag_set(diag, -EINVAL, "stomp: function= needs an expression");
	*function = strdup(*text);
	*text += strlen(*text);
	return *function ? 0 : diag_set(diag, -ENOMEM, "out of memory");
}

char *allocator_stomp_options(const char *text, char **function, struct diag *diag)
{
	char *result = NULL;
	size_t size;
	FILE *out = open_memstream(&result, &size);
	int error = out ? 0 : diag_set(diag, -ENOMEM, "out of memory");
	struct range range = { 0, UINT64_MAX };
	bool first = true;

	*function = NULL;
	while (!error && *text) {
		size_t length;

		error = take_function(&text, function, diag);
		length = strcspn(text, ",:");
		if (!error && length) {
			if (!first)
				fputc(',', out);
			error = put(out, text, length, &range, diag);
			first = false;
		}
		text += length + (text[length] != 0);
	}
	if (!error && range.min > range.max)
		error = diag_set(diag, -EINVAL,
				 "stomp: min is above max: no block would be guarded");
	if (out && fclose(out) && !error)
		error = diag_set(diag, -ENOMEM, "out of memory");
	if (error) {
		free(result);
		free(*function);
		*function = NULL;
		return NULL;
	}
	return result;
}
