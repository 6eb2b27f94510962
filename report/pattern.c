/* SPDX-License-Identifier: MIT */
/*
 * Compiling what users give as expressions; called by the filters and the
 * plumbing rule.
 */
#include "report/pattern.h"

#include <errno.h>

int pattern_compile(regex_t *regex, const char *text, struct diag *diag)
{
	int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	if (!error)
		return 0;
	char why[128];
	regerror(error, regex, why, sizeof(why));
	diag_set(diag, -EINVAL, "bad regular expression '%s': %s", text, why);
	diag_hint(diag,
		  "expressions are POSIX extended; escape ( ) [ ] { } * + ? | . with a backslash");
	return -EINVAL;
}
