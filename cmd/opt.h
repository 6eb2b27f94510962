/* SPDX-License-Identifier: MIT */
/*
 * Command-line options: one table per command gives parsing, the short help, the
 * completion scripts (through the hidden --list-options) and the lint that compares it
 * with the manual.
 *
 * A table binds to the command's own struct.  Defaults are what that struct holds before
 * parsing:
 *
 *	struct recover_options {
 *		const char *output;
 *		int64_t depth;
 *		int color;
 *		bool quiet;
 *		struct opt_list debug_paths;
 *	};
 *
 *	static const struct opt recover_opts[] = {
 *		OPT_STRING('o', "output", "FILE", struct recover_options, output, "write FILE"),
 *		OPT_INT(0, "depth", "N", struct recover_options, depth, 1, 4096, "frames to keep"),
 *		OPT_CHOICE(0, "color", "WHEN", struct recover_options, color, color_names,
 *			   "colour the text"),
 *		OPT_FLAG('q', "quiet", struct recover_options, quiet, "no summary"),
 *		OPT_REPEAT(0, "debug-path", "DIR", struct recover_options, debug_paths,
 *			   "look in DIR"),
 *		OPT_END,
 *	};
 *
 * with static const struct report_name color_names[] = { { "auto", "on a terminal" }, …,
 * { NULL, NULL } }.
 *
 * Commands parse through cmd_parse() (cmd/cmd.h), which prints errors and serves -h and
 * --help.
 *
 * What is accepted: --name=VALUE, --name VALUE, unambiguous prefixes of long names,
 * -nVALUE, -n VALUE, bundled flags (-qo FILE), "--" as the end of options.  Every flag X
 * also answers to --no-X, and a flag named no-X to --X.  Later options win.
 *
 * Nothing here prints or exits; one thread.
 */
#ifndef MEMTRACK_CMD_OPT_H
#define MEMTRACK_CMD_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/diag.h"

struct opt;
struct report_name; /* report/report.h */

enum opt_type {
	OPT_TYPE_END = 0,
	OPT_TYPE_FLAG,	   /* bool: set to true */
	OPT_TYPE_CLEAR,	   /* bool: set to false */
	OPT_TYPE_STRING,   /* const char *: points into argv */
	OPT_TYPE_INT,	   /* int64_t within min..max */
	OPT_TYPE_SIZE,	   /* uint64_t within min..max: 4096, 64K, 1.5M */
	OPT_TYPE_CHOICE,   /* int: index of the value in `choices` */
	OPT_TYPE_REPEAT,   /* struct opt_list: every value, in order */
	OPT_TYPE_CALLBACK, /* what the function makes of it */
	OPT_TYPE_ALIAS,	   /* another name of the option `alias` */
};

enum opt_flags {
	OPT_HIDDEN = 1 << 0, /* works, but is in no help, list or manual */
};

/*
 * Takes one value (NULL when the option has no argument).  0, or a negative errno with
 * *diag filled: the text goes after "option '--name': ".
 */
typedef int (*opt_callback)(const struct opt *opt, void *values, const char *value,
			    struct diag *diag);

struct opt {
	char short_name;  /* 0: none */
	const char *name; /* long name, without dashes; every option has one */
	const char *arg; /* what the help calls the value (FILE and DIR complete as such) or NULL */
	const char *help; /* a few words, lower case, no final dot */
	enum opt_type type;
	unsigned int flags;		   /* enum opt_flags */
	size_t offset;			   /* of the field in the command's struct */
	int64_t min, max;		   /* INT, SIZE */
	const struct report_name *choices; /* CHOICE: ended by a NULL name */
	uint64_t hidden_choices;	   /* bits: accepted, but neither in help nor completions */
	const char
		*values; /* STRING: what completion offers, as in cmd/complete.h; NULL: see `arg` */
	const char *optional; /* the value meant by --name alone; NULL: one is required */
	const char *alias;    /* ALIAS: the long name meant */
	opt_callback callback;
};

/* Values of a repeatable option.  The strings belong to argv; opt_release frees `items`. */
struct opt_list {
	const char **items;
	size_t count;
};

/* clang-format off */
/* offsetof with the type of the field checked by the compiler. */
#define OPT_FIELD(s, field, field_type) \
	(offsetof(s, field) + 0 * sizeof(char[OPT_SAME_(((s *)0)->field, field_type) ? 1 : -1]))
#define OPT_SAME_(a, b) __builtin_types_compatible_p(__typeof__(a), b)
#define OPT_NAMES_(short_, name_, arg_, help_) \
	.short_name = (short_), .name = (name_), .arg = (arg_), .help = (help_)

#define OPT_FLAG(short_, name_, s, field, help_) \
	{ OPT_NAMES_(short_, name_, NULL, help_), .type = OPT_TYPE_FLAG, \
	  .offset = OPT_FIELD(s, field, bool) }
#define OPT_CLEAR(short_, name_, s, field, help_) \
	{ OPT_NAMES_(short_, name_, NULL, help_), .type = OPT_TYPE_CLEAR, \
	  .offset = OPT_FIELD(s, field, bool) }
#define OPT_STRING(short_, name_, arg_, s, field, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_STRING, \
	  .offset = OPT_FIELD(s, field, const char *) }
#define OPT_STRING_OF(short_, name_, arg_, values_, s, field, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_STRING, \
	  .offset = OPT_FIELD(s, field, const char *), .values = (values_) }
#define OPT_INT(short_, name_, arg_, s, field, min_, max_, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_INT, \
	  .offset = OPT_FIELD(s, field, int64_t), .min = (min_), .max = (max_) }
#define OPT_SIZE(short_, name_, arg_, s, field, min_, max_, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_SIZE, \
	  .offset = OPT_FIELD(s, field, uint64_t), .min = (min_), .max = (max_) }
#define OPT_CHOICE(short_, name_, arg_, s, field, choices_, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_CHOICE, \
	  .offset = OPT_FIELD(s, field, int), .choices = (choices_) }
/* hidden_ is a mask of choices that are accepted but not offered */
#define OPT_CHOICE_PARTLY(short_, name_, arg_, s, field, choices_, hidden_, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_CHOICE, \
	  .offset = OPT_FIELD(s, field, int), .choices = (choices_), \
	  .hidden_choices = (hidden_) }
/* --name alone means --name=DEFAULT; a value needs the '=' */
#define OPT_OPTIONAL_CHOICE(short_, name_, arg_, s, field, choices_, default_, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_CHOICE, \
	  .offset = OPT_FIELD(s, field, int), .choices = (choices_), .optional = (default_) }
#define OPT_OPTIONAL_STRING(short_, name_, arg_, s, field, default_, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_STRING, \
	  .offset = OPT_FIELD(s, field, const char *), .optional = (default_) }
#define OPT_REPEAT(short_, name_, arg_, s, field, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_REPEAT, \
	  .offset = OPT_FIELD(s, field, struct opt_list) }
#define OPT_CALLBACK(short_, name_, arg_, function, help_) \
	{ OPT_NAMES_(short_, name_, arg_, help_), .type = OPT_TYPE_CALLBACK, \
	  .callback = (function) }
#define OPT_ALIAS(name_, of_) { .name = (name_), .type = OPT_TYPE_ALIAS, .alias = (of_) }
#define OPT_END { .type = OPT_TYPE_END }
/* clang-format on */

enum opt_mode {
	OPT_INTERMIXED,	     /* options may stand after operands */
	OPT_STOP_AT_OPERAND, /* the first operand ends the options: the rest is a target's */
};

enum opt_result {
	OPT_OK = 0,
	OPT_HELP_SHORT, /* -h was met */
	OPT_HELP_LONG,	/* --help was met */
	OPT_ERROR,	/* *diag says what is wrong */
};

/*
 * Parses argv[1..argc-1] into `values` (the struct the table binds to).  On OPT_OK,
 * *first is the index of the first operand; operands are moved behind the options, in
 * order, when they were intermixed.  Stops at the first error or request for help.
 */
enum opt_result opt_parse(const struct opt *table, enum opt_mode mode, int argc, char **argv,
			  void *values, int *first, struct diag *diag)
	__attribute__((warn_unused_result));

/*
 * Writes the choices offered by a CHOICE as one text, `last` between the last two;
 * returns `text`.
 */
char *opt_list_choices(const struct opt *opt, char *text, size_t size, const char *separator,
		       const char *last);

/* The option an alias stands for, itself for others. */
const struct opt *opt_resolve(const struct opt *table, const struct opt *opt);

/* Frees the lists of repeatable options in `values` and empties them. */
void opt_release(const struct opt *table, void *values);

/*
 * Splits `text` as a shell would split words: blanks separate, '…' and "…" and backslash
 * quote; nothing is expanded.  *words is a NULL-terminated vector whose word 0 is `name`
 * (so it can be parsed as an argv), in one block to free().  0, -EINVAL (open quote;
 * *diag says so) or -ENOMEM.
 */
int opt_split_words(const char *name, const char *text, char ***words, int *count,
		    struct diag *diag) __attribute__((warn_unused_result));

/* The one of `count` names that `given` was most likely meant to be; NULL when none is near. */
const char *opt_nearest(const char *given, const char *const *names, size_t count);

#endif
