/* SPDX-License-Identifier: MIT */
/*
 * See plumbing.h.  Called once for each distinct name, so clarity comes before
 * speed.
 */
#include "report/plumbing.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/pattern.h"

/*
 * C functions that hand memory to their caller; exact names, sorted as strcmp
 * sorts.
 */
static const char *const allocating_names[] = {
	"__asprintf",	   "__cxa_allocate_exception",
	"__libc_calloc",   "__libc_malloc",
	"__libc_memalign", "__libc_realloc",
	"__rust_alloc",	   "__rust_alloc_zeroed",
	"__rust_realloc",  "__strdup",
	"__strndup",	   "__vasprintf",
	"_start",	   "aligned_alloc",
	"asprintf",	   "calloc",
	"malloc",	   "memalign",
	"posix_memalign",  "pvalloc",
	"realloc",	   "reallocarray",
	"strdup",	   "strndup",
	"valloc",	   "vasprintf",
	"wcsdup",	   "x2nrealloc",
	"x2realloc",	   "xaligned_alloc",
	"xasprintf",	   "xcalloc",
	"xcharalloc",	   "xmalloc",
	"xmemalign",	   "xmemdup",
	"xmemdup0",	   "xmemdupz",
	"xnmalloc",	   "xnrealloc",
	"xposix_memalign", "xrealloc",
	"xreallocarray",   "xstrdup",
	"xstrndup",	   "xvasprintf",
	"xzalloc",	   "zcalloc",
	"zmalloc",	   "zrealloc",
	"zstrdup",	   "ztrycalloc",
	"ztrymalloc",	   "ztryrealloc",
};

/*
 * Families: glib, CPython, Rust's default and replaced allocators, the C++
 * runtime.
 */
/* clang-format off */
static const char *const allocating_prefixes[] = {
	"g_malloc", "g_try_malloc", "g_realloc", "g_try_realloc", "g_slice_",
	"g_strdup", "g_strndup", "g_memdup", "g_aligned_alloc",
	"PyMem_", "_PyMem_", "pymalloc_", "Perl_safesys", "sqlite3Mem",
	"CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_realloc", "CRYPTO_strdup", "CRYPTO_memdup",
	"__rdl_alloc", "__rdl_realloc", "__rg_alloc", "__rg_realloc", "__rustc[", "__rustc::",
	"std::", "__gnu_cxx::", "__cxxabiv1::", "operator new",
};

/* Rust's libraries; in C++ these could be anyone's namespaces. */
static const char *const rust_prefixes[] = { "alloc::", "alloc[", "core::",	"core[",
					     "std::",	"std[",	  "hashbrown::" };

static const char *const runtime_modules[] = {
	"libc.so", "libc-2.", "ld-linux", "ld-2.", "ld-musl", "ld.so", "libc.musl",
	"libstdc++.", "libc++.", "libc++abi.", "libgcc_s.", "libpthread.", "libpthread-2.",
	"libjemalloc.", "libtcmalloc", "libmimalloc", "librpmalloc", "libmemtrack",
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool any_prefix(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (has_prefix(text, prefixes[i]))
			return true;
	}
	return false;
}

int plumbing_init(struct plumbing *plumbing, const char *const *regexes, size_t count,
		  struct diag *diag)
{
	*plumbing = (struct plumbing){ 0 };
	if (count == 0)
		return 0;
	plumbing->extra = calloc(count, sizeof(*plumbing->extra));
	if (!plumbing->extra)
		return diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		int error = pattern_compile(&plumbing->extra[i], regexes[i], diag);
		if (error) {
			plumbing_release(plumbing);
			return error;
		}
		plumbing->extra_count++;
	}
	return 0;
}

void plumbing_release(struct plumbing *plumbing)
{
	for (size_t i = 0; i < plumbing->extra_count; i++)
		regfree(&plumbing->extra[i]);
	free(plumbing->extra);
	*plumbing = (struct plumbing){ 0 };
}

/* Past the bracket that closes the one at p, or the end. */
static const char *skip_brackets(const char *p)
{
	int depth = 0;
	for (; *p; p++) {
		if (*p == '(' || *p == '<' || *p == '[' || *p == '{')
			depth++;
		else if (*p == ')' || *p == ']' || *p == '}' || (*p == '>' && p[-1] != '-'))
			depth--;
		if (depth == 0)
			return p + 1;
	}
	return p;
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool is_operator(const char *p, const char *start)
{
	return has_prefix(p, "operator") && !is_name_byte(p[8]) &&
	       (p == start || !is_name_byte(p[-1]));
}

/*
 * Where the qualified name starts: after a template function's return type, so that
 * "std::string make<int>(int)" is make and "void std::sort<...>(...)" is std::sort.
 */
static const char *name_start(const char *function)
{
	const char *start = function;
	const char *p = function;
	while (*p) {
		if (is_operator(p, function) || has_prefix(p, " ["))
			break;
		if (*p == '(' && !has_prefix(p, "(anonymous ") &&
		    !(p - function >= 8 && has_prefix(p - 8, "decltype")))
			break;
		if (*p == '(' || *p == '<' || *p == '[' || *p == '{') {
			p = skip_brackets(p);
			continue;
		}
		if (*p == ' ')
			start = p + 1;
		p++;
	}
	/* References and pointers stick to the name: "char *f()". */
	while (*start == '*' || *start == '&')
		start++;
	return start;
}

static int compare_name(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

/* Compilers and linkers append ".constprop.0", "@GLIBC_2.2.5" and the like. */
static bool is_allocating_c_name(const char *name)
{
	char plain[32];
	size_t length = strcspn(name, ".@(");
	if (length == 0 || length >= sizeof(plain))
		return false;
	memcpy(plain, name, length);
	plain[length] = '\0';
	return bsearch(plain, allocating_names, COUNT(allocating_names),
		       sizeof(allocating_names[0]), compare_name);
}

/* PyObject_Malloc, _PyObject_GC_Alloc and so on. */
static bool is_python_allocator(const char *name)
{
	if (!has_prefix(name, "PyObject_") && !has_prefix(name, "_PyObject_"))
		return false;
	size_t length = strlen(name);
	return length > 5 && strcasecmp(name + length - 5, "alloc") == 0;
}

/* A class's own operator new is plumbing as the global one is. */
static bool is_member_new(const char *name)
{
	for (const char *p = name; *p && *p != '(';) {
		if (*p == '<' || *p == '{') {
			p = skip_brackets(p);
			continue;
		}
		if (has_prefix(p, "::operator new"))
			return true;
		p++;
	}
	return false;
}

static const char *skip_reference(const char *type)
{
	for (;;) {
		if (*type == '&' || *type == '*' || *type == ' ' || *type == '(' || *type == '<')
			type++;
		else if (has_prefix(type, "mut ") || has_prefix(type, "dyn "))
			type += 4;
		else if (has_prefix(type, "const "))
			type += 6;
		else
			return type;
	}
}

/*
 * "<TYPE as TRAIT>::method" belongs to the library when the type is the
 * library's; a bare type parameter ("T") or a built-in one ("[T]", "str")
 * leaves it to the trait.  "<my::Type as core::clone::Clone>::clone" is the
 * program's.
 */
static bool is_rust_impl(const char *name)
{
	if (*name != '<')
		return false;
	const char *type = skip_reference(name + 1);
	if (any_prefix(type, rust_prefixes, COUNT(rust_prefixes)))
		return true;
	const char *as = type;
	while (*as && !has_prefix(as, " as ") && *as != ':' && *as != '>')
		as++;
	return has_prefix(as, " as ") && any_prefix(as + 4, rust_prefixes, COUNT(rust_prefixes));
}

/* C++ names of functions end with their parameters, Rust's never do. */
static bool is_rust_path(const char *name)
{
	return any_prefix(name, rust_prefixes, COUNT(rust_prefixes)) && !strchr(name, '(');
}

bool plumbing_function(const struct plumbing *plumbing, const char *function)
{
	const char *name = name_start(function);
	if (is_allocating_c_name(name) ||
	    any_prefix(name, allocating_prefixes, COUNT(allocating_prefixes)) ||
	    is_python_allocator(name) || is_member_new(name) || is_rust_path(name) ||
	    is_rust_impl(name))
		return true;
	for (size_t i = 0; i < plumbing->extra_count; i++) {
		if (regexec(&plumbing->extra[i], function, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

bool plumbing_entry(const char *function)
{
	return has_prefix(function, "__libc_start_main");
}

bool plumbing_module(const char *path)
{
	const char *slash = strrchr(path, '/');
	return any_prefix(slash ? slash + 1 : path, runtime_modules, COUNT(runtime_modules));
}

bool plumbing_file(const char *path)
{
	return strstr(path, "/include/c++/") ||
	       (has_prefix(path, "/rustc/") && strstr(path, "/library/")) ||
	       strstr(path, "/rustlib/src/rust/library/");
}
