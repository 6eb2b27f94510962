/* SPDX-License-Identifier: MIT */
/* Options; see options.h.  memtrack has checked them; by plain LD_PRELOAD they come as they were typed. */
#include "allocators/stomp/options.h"

#include <stddef.h>

#include "agent/rt/sys.h"

struct stomp_options stomp_options = {
	.align = 16,
	.quarantine = 1ull << 30,
	.sample = 1,
	.max = UINT64_MAX,
};

/* A word of the list: its name, and what follows the "=". */
struct word {
	const char *name, *value;
	size_t name_size, value_size;
};

static bool is(const char *text, size_t size, const char *name)
{
	size_t i = 0;

	while (i < size && name[i] == text[i] && name[i])
		i++;
	return i == size && !name[i];
}

/* Bytes, or with K, M, G. */
static bool read_size(const struct word *w, uint64_t *value)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < w->value_size && w->value[i] >= '0' && w->value[i] <= '9'; i++)
		n = 10 * n + (uint64_t)(w->value[i] - '0');
	if (i == 0)
		return false;
	if (i + 1 == w->value_size) {
		unsigned shift = w->value[i] == 'K'   ? 10
				 : w->value[i] == 'M' ? 20
				 : w->value[i] == 'G' ? 30
						      : 64;

		if (shift == 64)
			return false;
		n <<= shift;
	} else if (i != w->value_size) {
		return false;
	}
	*value = n;
	return true;
}

static bool read_align(const struct word *w)
{
	uint64_t n;

	if (!read_size(w, &n) || n < 1 || n > RT_PAGE || (n & (n - 1)))
		return false;
	stomp_options.align = (uint32_t)n;
	return true;
}

static bool read_guard(const struct word *w)
{
	static const struct {
		const char *name;
		enum stomp_guard guard;
	} guards[] = { { "madvise", STOMP_GUARD_MADVISE },
		       { "mprotect", STOMP_GUARD_MPROTECT },
		       { "canary", STOMP_GUARD_CANARY } };

	for (size_t i = 0; i < sizeof(guards) / sizeof(*guards); i++)
		if (is(w->value, w->value_size, guards[i].name)) {
			stomp_options.guard = guards[i].guard;
			return true;
		}
	return false;
}

static bool read_flag(const struct word *w, bool *flag)
{
	if (!w->value)
		*flag = true;
	return !w->value;
}

static bool apply(const struct word *w)
{
	struct stomp_options *o = &stomp_options;

	if (is(w->name, w->name_size, "under"))
		return read_flag(w, &o->under);
	if (is(w->name, w->name_size, "continue"))
		return read_flag(w, &o->go_on);
	if (is(w->name, w->name_size, "align"))
		return read_align(w);
	if (is(w->name, w->name_size, "quarantine"))
		return read_size(w, &o->quarantine);
	if (is(w->name, w->name_size, "sample"))
		return read_size(w, &o->sample) && o->sample;
	if (is(w->name, w->name_size, "max"))
		return read_size(w, &o->max);
	if (is(w->name, w->name_size, "min"))
		return read_size(w, &o->min);
	return is(w->name, w->name_size, "guard") && read_guard(w);
}

const char *stomp_options_read(const char *text)
{
	const char *bad = NULL;

	while (text && *text) {
		struct word w = { .name = text };

		for (; *text && *text != ',' && *text != ':'; text++) {
			if (*text == '=' && !w.value) {
				w.value = text + 1;
				w.name_size = (size_t)(text - w.name);
			}
		}
		if (w.value)
			w.value_size = (size_t)(text - w.value);
		else
			w.name_size = (size_t)(text - w.name);
		if ((w.name_size || w.value) && !apply(&w) && !bad)
			bad = w.name;
		text += *text != 0;
	}
	if (!stomp_options.sample)
		stomp_options.sample = 1;
	return bad;
}
