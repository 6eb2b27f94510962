/* SPDX-License-Identifier: MIT */
/* Budgets against recordings; see check.h. */
#include "report/check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff.h"
#include "report/known_stacks.h"
#include "report/render.h"
#include "report/render_check.h"
#include "report/units.h"
#include "report/view.h"

const struct report_name check_budget_names[] = {
	[CHECK_MAX_PEAK] = { "max-peak", "bytes live at the peak of the heap" },
	[CHECK_MAX_LEAKED] = { "max-leaked", "bytes still allocated at the end" },
	[CHECK_MAX_LEAKED_BLOCKS] = { "max-leaked-blocks", "blocks still allocated at the end" },
	[CHECK_MAX_ALLOCATIONS] = { "max-allocations", "number of allocations" },
	[CHECK_MAX_TEMPORARY] = { "max-temporary", "share of temporary allocations" },
	[CHECK_MAX_ERRORS] = { "max-errors", "errors in the use of the heap" },
	[CHECK_MAX_PEAK_GROWTH] = { "max-peak-growth", "growth of the peak" },
	[CHECK_MAX_LEAKED_GROWTH] = { "max-leaked-growth", "growth of the leaked bytes" },
	[CHECK_MAX_ALLOCATIONS_GROWTH] = { "max-allocations-growth",
					   "growth of the number of allocations" },
	{ 0 },
};

const struct report_name check_format_names[] = {
	[CHECK_FORMAT_TEXT] = { "text", "a line for each broken budget" },
	[CHECK_FORMAT_JSON] = { "json", "for programs" },
	{ 0 },
};

static bool is_size(enum check_budget budget)
{
	return budget == CHECK_MAX_PEAK || budget == CHECK_MAX_LEAKED ||
	       budget == CHECK_MAX_PEAK_GROWTH || budget == CHECK_MAX_LEAKED_GROWTH;
}

static const char *expected_limit(enum check_budget budget)
{
	if (budget == CHECK_MAX_TEMPORARY)
		return "a percentage such as 50 or 2.5%";
	if (check_is_growth(budget))
		return is_size(budget) ? "a percentage such as 5% or a size such as 64K"
				       : "a percentage such as 5% or a number";
	return is_size(budget) ? "a size such as 4096, 64K, 1.5M or 2G" : "a number from 0 up";
}

/* Digits with at most one dot; strtod takes much else. */
static int parse_percentage(const char *text, size_t length, double *percentage)
{
	char digits[32], *end;
	if (length == 0 || length >= sizeof(digits) || strspn(text, "0123456789.") < length)
		return -EINVAL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	*percentage = strtod(digits, &end);
	return *end || end == digits ? -EINVAL : 0;
}

static int parse_number(const char *text, uint64_t *number)
{
	char *end;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *end || errno ? -EINVAL : 0;
}

int check_limit_parse(struct check_limit *limit, enum check_budget budget, const char *text,
		      const char **expected)
{
	size_t length = strlen(text);
	bool sign = length && text[length - 1] == '%';
	struct check_limit parsed = { .set = true,
				      .percent = budget == CHECK_MAX_TEMPORARY ||
						 (sign && check_is_growth(budget)) };
	int error;
	if (parsed.percent)
		error = parse_percentage(text, length - sign, &parsed.percentage);
	else if (is_size(budget))
		error = units_parse_size(text, &parsed.amount);
	else
		error = parse_number(text, &parsed.amount);
	*expected = expected_limit(budget);
	if (error)
		return -EINVAL;
	*limit = parsed;
	return 0;
}

int check_options_test(const struct check_options *options, struct diag *diag)
{
	bool any = false;
	for (int budget = 0; budget < CHECK_BUDGETS; budget++) {
		any |= options->limits[budget].set;
		if (options->limits[budget].set && check_is_growth((enum check_budget)budget) &&
		    !options->against)
			return diag_set(diag, -EINVAL,
					"--%s needs the recording to compare with: --against OLD",
					check_budget_names[budget].name);
	}
	if (!any)
		return diag_set(diag, -EINVAL,
				"no budget is given, such as --max-peak SIZE or --max-leaked SIZE");
	return 0;
}

/* The sort key that a growth is by. */
static enum report_sort growth_sort(enum check_budget budget)
{
	switch (budget) {
	case CHECK_MAX_LEAKED_GROWTH:
		return REPORT_SORT_LEAKED;
	case CHECK_MAX_ALLOCATIONS_GROWTH:
		return REPORT_SORT_ALLOCATIONS;
	default:
		return REPORT_SORT_PEAK;
	}
}

/* What a budget is about, of a site or of all. */
static int64_t figure(const struct costs *costs, enum check_budget budget)
{
	switch (budget) {
	case CHECK_MAX_LEAKED:
		return costs->leaked_bytes;
	case CHECK_MAX_LEAKED_BLOCKS:
		return costs->leaked_blocks;
	case CHECK_MAX_ALLOCATIONS:
		return (int64_t)costs->allocations;
	case CHECK_MAX_TEMPORARY:
		return (int64_t)costs->temporary_allocations;
	case CHECK_MAX_PEAK:
	case CHECK_MAX_ERRORS:
		return costs->peak_bytes;
	default:
		return sites_cost(costs, growth_sort(budget));
	}
}

static int64_t count_errors(const struct model *model)
{
	uint64_t errors = model->totals.errors_lost;
	for (int kind = 1; kind < ERROR_KINDS; kind++) {
		if (__builtin_add_overflow(errors, model_count_errors(model, (enum error_kind)kind),
					   &errors))
			errors = UINT64_MAX;
	}
	return errors > INT64_MAX ? INT64_MAX : (int64_t)errors;
}

double check_percentage(const struct check_finding *finding, int64_t allocations)
{
	double whole = (double)(check_is_growth(finding->budget) ? finding->old : allocations);
	double part = (double)finding->actual;
	if (check_is_growth(finding->budget))
		part -= whole;
	return part == 0 ? 0 : part / whole * 100;
}

/* More than `percentage` of `whole`?  Of nothing, anything is. */
static bool exceeds(int64_t part, double percentage, int64_t whole)
{
	return part > 0 && (long double)part * 100 > (long double)percentage * (long double)whole;
}

static bool is_broken(const struct check_finding *finding, const struct check_limit *limit,
		      int64_t allocations)
{
	int64_t amount = finding->actual;
	bool growth = check_is_growth(finding->budget);
	if (growth && __builtin_sub_overflow(finding->actual, finding->old, &amount))
		amount = finding->actual > finding->old ? INT64_MAX : INT64_MIN;
	if (limit->percent)
		return exceeds(amount, limit->percentage, growth ? finding->old : allocations);
	return amount > 0 && (uint64_t)amount > limit->amount;
}

static void blame_site(struct check *check, struct check_finding *finding)
{
	const struct site_table *table = &check->view->table;
	for (size_t i = 0; i < table->count; i++) {
		int64_t cost = figure(&table->sites[i].costs, finding->budget);
		if (cost > finding->of_site) {
			finding->site = &table->sites[i];
			finding->of_site = cost;
		}
	}
}

static void blame_growth(struct check *check, const struct diff *diff,
			 struct check_finding *finding)
{
	enum report_sort sort = growth_sort(finding->budget);
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];
		int64_t growth = diff_change(row, sort);
		if (growth > finding->of_site && row->sites[SIDE_NEW]) {
			finding->site = &check->view->table.sites[row->sites[SIDE_NEW] - 1];
			finding->of_site = growth;
		}
	}
}

/* What is known of all stacks that make the site's figure; NULL when there are others. */
static const char *site_remark(const struct view *view, const struct site *site,
			       enum check_budget budget)
{
	const char *remark = NULL;
	for (uint32_t i = 0; i < site->stack_count; i++) {
		const struct model_stack *stack =
			&view->model.stacks[view->table.stacks[site->first_stack + i]];
		const struct known_stack *known;
		if (figure(&stack->costs, budget) == 0)
			continue;
		known = known_stack_find(&view->model, stack);
		if (!known)
			return NULL;
		remark = known->remark;
	}
	return remark;
}

static void blame(struct check *check, const struct diff *diff, struct check_finding *finding)
{
	const struct model *model = &check->view->model;
	if (finding->budget == CHECK_MAX_ERRORS)
		finding->error = model->error_count ? &model->errors[0] : NULL;
	else if (check_is_growth(finding->budget))
		blame_growth(check, diff, finding);
	else
		blame_site(check, finding);
	if (finding->site)
		finding->remark = site_remark(check->view, finding->site, finding->budget);
}

/* `diff` and `old` are only looked at for budgets of growth. */
static void judge(struct check *check, const struct diff *diff, const struct view *old)
{
	const struct model *model = &check->view->model;
	const struct costs *costs = &model->totals.costs;
	for (int i = 0; i < CHECK_BUDGETS; i++) {
		enum check_budget budget = (enum check_budget)i;
		const struct check_limit *limit = &check->options->limits[budget];
		struct check_finding finding = { .budget = budget };
		if (!limit->set)
			continue;
		finding.actual =
			budget == CHECK_MAX_ERRORS ? count_errors(model) : figure(costs, budget);
		if (check_is_growth(budget))
			finding.old = figure(&old->model.totals.costs, budget);
		if (!is_broken(&finding, limit, (int64_t)costs->allocations))
			continue;
		blame(check, diff, &finding);
		check->findings[check->count++] = finding;
	}
}

static void add_incomplete(const struct model *model, const struct model_process *process,
			   struct check_doubts *doubts)
{
	const char *executable = model_text(model, process->executable);
	if (doubts->incomplete++)
		return;
	doubts->first_incomplete = process->number;
	snprintf(doubts->first_program, sizeof(doubts->first_program), "%s",
		 executable ? path_base(executable) : "?");
}

static void find_doubts(const struct model *model, struct check_doubts *doubts)
{
	*doubts = (struct check_doubts){
		.dropped = model->totals.dropped_events,
		.unattributed = model->totals.unattributed,
		.errors_lost = model->totals.errors_lost,
		.unchecked = model->process_count - model->totals.processes,
		.errors_elsewhere = model->errors_elsewhere,
		.sampled = model->totals.sample_mean != 0,
	};
	for (size_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];
		if (process->selected && !process->rec.complete)
			add_incomplete(model, process, doubts);
	}
}

static int finish(struct check *check, struct check_verdict *verdict, struct diag *diag)
{
	bool json = check->options->format == CHECK_FORMAT_JSON;
	find_doubts(&check->view->model, &verdict->doubts[SIDE_NEW]);
	verdict->broken = check->count;
	return view_finish_output(check->options->report.out,
				  json ? render_check_json(check) : render_check_text(check), diag);
}

/* Of the same files, unless somebody wrote to them in between. */
static void join_matched(struct suppressions *set, const struct suppressions *other)
{
	for (size_t i = 0; i < set->count && i < other->count; i++)
		set->items[i].matched |= other->items[i].matched;
}

static int check_against(struct check *check, struct check_verdict *verdict, struct diag *diag)
{
	const struct check_options *o = check->options;
	struct diff_options diff_options = { .report = o->report };
	struct view old;
	struct diff diff;
	const struct view *const views[] = { &old, check->view };
	diff_options.report.top = 0;
	int error = view_open(&old, &o->report, &(struct report_list){ &o->against, 1 }, 1, diag);
	if (error)
		return error;
	error = diff_build(&diff, views, &diff_options, diag);
	if (!error) {
		find_doubts(&old.model, &verdict->doubts[SIDE_OLD]);
		judge(check, &diff, &old);
		error = finish(check, verdict, diag);
		diff_release(&diff);
	}
	join_matched(&check->view->suppressions, &old.suppressions);
	view_close(&old);
	return error;
}

int check_run(const struct check_options *options, struct check_verdict *verdict, struct diag *diag)
{
	struct view view;
	struct check check = { .options = options, .view = &view };
	*verdict = (struct check_verdict){ 0 };
	int error = check_options_test(options, diag);
	if (!error)
		error = view_open(&view, &options->report, &options->report.files, 0, diag);
	if (error)
		return error;
	if (options->against) {
		error = check_against(&check, verdict, diag);
	} else {
		judge(&check, NULL, NULL);
		error = finish(&check, verdict, diag);
	}
	verdict->suppressions = view.suppressions;
	view.suppressions = (struct suppressions){ 0 };
	view_close(&view);
	return error;
}

void check_verdict_release(struct check_verdict *verdict)
{
	suppressions_release(&verdict->suppressions);
}
