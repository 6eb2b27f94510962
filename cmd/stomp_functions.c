/* SPDX-License-Identifier: MIT */
/* Functions by name; see stomp_functions.h. */
#include "cmd/stomp_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/pattern.h"
#include "symbolize/symbolize.h"

enum { MOST = 1 << 20 /* ranges: they must have room in the stomp file */ };

struct search {
	struct stomp_functions *found;
	regex_t regex;
};

static bool matches(const regex_t *regex, const char *name)
{
	char *demangled;
	bool match;

	if (regexec(regex, name, 0, NULL, 0) == 0)
		return true;
	demangled = sym_demangle(name);
	match = demangled && regexec(regex, demangled, 0, NULL, 0) == 0;
	free(demangled);
	return match;
}

static int add(struct stomp_functions *f, uint64_t low, uint64_t high)
{
	struct stomp_range *last = f->count ? &f->ranges[f->count - 1] : NULL;

	if (last && low <= last->end) { /* aliases, and neighbours */
		if (high > last->end)
			last->end = high;
		return 0;
	}
	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct stomp_range *more = reallocarray(f->ranges, room, sizeof(*more));

		if (!more || f->count == MOST)
			return -ENOMEM;
		f->ranges = more;
		f->room = room;
	}
	f->ranges[f->count++] = (struct stomp_range){ low, high };
	return 0;
}

static int visit(void *context, const char *name, uint64_t low, uint64_t high)
{
	struct search *s = context;

	return matches(&s->regex, name) ? add(s->found, low, high) : 0;
}

static int search_file(struct search *s, const char *path)
{
	struct sym *sym = sym_new(NULL);
	struct sym_module *module;
	int error = sym ? 0 : -ENOMEM;

	s->found->program = realpath(path, NULL);
	if (!s->found->program)
		error = -errno;
	if (!error)
		error = sym_module_open(sym, s->found->program, NULL, 0, &module);
	if (!error)
		error = sym_functions(module, visit, s);
	if (sym)
		sym_free(sym);
	return error;
}

int stomp_functions_find(struct stomp_functions *functions, const char *path, const char *pattern,
			 struct diag *diag)
{
	struct search s = { .found = functions };
	int error;

	memset(functions, 0, sizeof(*functions));
	error = pattern_compile(&s.regex, pattern, diag);
	if (error)
		return error;
	error = search_file(&s, path);
	regfree(&s.regex);
	if (error) {
		diag_set(diag, error, "cannot read the functions of '%s': %s", path,
			 strerror(-error));
	} else if (!functions->count) {
		error = diag_set(diag, -ENOENT, "no function of '%s' matches '%s'", path, pattern);
		diag_hint(
			diag,
			"inlined functions do not count; a stripped program names only what it exports; functions of its "
			"libraries do not count");
	}
	if (error)
		stomp_functions_release(functions);
	return error;
}

void stomp_functions_release(struct stomp_functions *functions)
{
	free(functions->ranges);
	free(functions->program);
	memset(functions, 0, sizeof(*functions));
}
