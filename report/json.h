/* SPDX-License-Identifier: MIT */
/*
 * Pieces of JSON output that several commands print: texts, figures, frames,
 * sites.  Texts and small objects are printed by cJSON; numbers are written
 * here, since cJSON keeps them as doubles and would round past 2^53.
 *
 * Names that are no UTF-8 get U+FFFD for each wrong byte: lone surrogates would
 * keep the bytes for Python, but other readers refuse them.  The recording
 * itself keeps the bytes.
 */
#ifndef MEMTRACK_REPORT_JSON_H
#define MEMTRACK_REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/report.h"

struct cost_variances;
struct costs;
struct model;
struct model_error;
struct model_totals;
struct report;
struct site;
struct site_table;

struct json {
	FILE *out;
	const struct model *model; /* whose ids the texts and frames below are */
	bool sampled;		   /* figures are estimates: standard errors go with them */
	bool slack;		   /* was recorded, and goes with the costs */
	unsigned errors;	   /* how many standard errors an object has so far */
	char **frame_texts;	   /* by location: its frames as JSON, made when first needed */
	int error;		   /* -ENOMEM once memory ended: the output is then not whole */
};

int json_init(struct json *j, FILE *out, const struct model *model)
	__attribute__((warn_unused_result));
/* Returns j->error. */
int json_release(struct json *j);

void json_put(struct json *j, const char *json);
/* A text as a JSON string; null for NULL. */
void json_string(struct json *j, const char *text);
void json_text(struct json *j, uint32_t text_id);
/* Seconds with as many decimals as it takes, at least one. */
void json_seconds(struct json *j, int64_t t_ns);
/* ", KEY: number"; null for 0. */
void json_number_or_null(struct json *j, const char *key, uint64_t number);

/* An object of its own: the figures of `t`, or, when `less` is not NULL, by how much they exceed those. */
void json_totals(struct json *j, const struct model_totals *t, const struct model_totals *less);
/* The same of costs, without the braces. */
void json_costs(struct json *j, const struct costs *c, const struct costs *less);
/* ", standard_errors: {" and its members; the caller closes it. */
void json_begin_errors(struct json *j);
void json_error(struct json *j, const char *key, double variance);

/* The frames of a stack from the innermost outward, an array. */
void json_frames(struct json *j, uint32_t node);
/* "function", "file", "line", "module", without the braces. */
void json_place(struct json *j, const struct site *site);
/* A site with its stacks in order of cost. */
void json_site(struct json *j, struct site_table *table, const struct site *site,
	       enum report_sort sort);
/* The tree of --tree, an array of its roots. */
void json_tree(struct json *j, const struct report *report);
/* What was found wrong in the use of the heap. */
void json_found(struct json *j, const struct model_error *error);

#endif
