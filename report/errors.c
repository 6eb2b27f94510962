/* SPDX-License-Identifier: MIT */
/* The names of what a recording says about errors; see recording.h. */
#include "report/recording.h"

static const char *name_of(const char *const *names, size_t count, unsigned value)
{
	return value < count ? names[value] : NULL;
}

const char *error_kind_name(enum error_kind kind)
{
	static const char *const names[ERROR_KINDS] = {
		[ERROR_BUFFER_OVERFLOW] = "heap-buffer-overflow",
		[ERROR_BUFFER_UNDERFLOW] = "heap-buffer-underflow",
		[ERROR_USE_AFTER_FREE] = "heap-use-after-free",
		[ERROR_DOUBLE_FREE] = "double-free",
		[ERROR_INVALID_FREE] = "invalid-free",
		[ERROR_CORRUPTION] = "heap-corruption",
	};
	return name_of(names, ERROR_KINDS, kind);
}

const char *error_access_name(enum error_access access)
{
	static const char *const names[ERROR_ACCESSES] = {
		[ERROR_READ] = "read",
		[ERROR_WRITE] = "write",
	};
	return name_of(names, ERROR_ACCESSES, access);
}

const char *error_source_name(enum error_source source)
{
	static const char *const names[ERROR_SOURCES] = {
		[ERROR_FROM_STOMP] = "stomp",
		[ERROR_FROM_AGENT] = "agent",
	};
	return name_of(names, ERROR_SOURCES, source);
}

const char *guard_method_name(enum guard_method method)
{
	static const char *const names[GUARD_METHODS] = {
		[GUARD_NONE] = "none",
		[GUARD_MADVISE] = "madvise",
		[GUARD_MPROTECT] = "mprotect",
		[GUARD_CANARY] = "canary",
	};
	return name_of(names, GUARD_METHODS, method);
}
