/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names: the only door to debug information.  No libdw or libelf
 * type crosses it, so that another implementation (DbgHelp) can stand beside
 * this one.
 *
 * Threads: one symbolizer is used by one thread at a time; two symbolizers are
 * independent.
 * Ownership: everything handed out (strings, modules) belongs to the symbolizer
 * and lives until sym_free.
 * Errors: functions return 0 or -errno; a module without symbols is no error
 * but a status.  Nothing here prints or exits.
 */
#ifndef MEMTRACK_SYMBOLIZE_SYMBOLIZE_H
#define MEMTRACK_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYM_BUILD_ID_MAX 64
/* Frames of one address that are worth to keep: deeper inlining than that is a defect of the debug information. */
#define SYM_FRAMES_MAX 64

struct sym;	   /* a symbolizer: options, caches, open modules */
struct sym_module; /* one ELF file, found (or not) by path and build-id */

struct sym_options {
	/* Prefix for module paths and debug folders; NULL for none. */
	const char *sysroot;
	/* More debug folders, searched before /usr/lib/debug. */
	const char *const *debug_paths;
	size_t debug_paths_count;
	/* Downloads allowed; off: the network is never touched. */
	bool debuginfod;
	/* Called now and then during a long resolve or download (done of total,
	 * 0 when unknown); may be NULL.  `what` is a short text such as a
	 * module's base name. */
	void (*progress)(void *context, const char *what, size_t done, size_t total);
	void *progress_context;
};

enum sym_status {
	/* Debug information: lines and inlined frames. */
	SYM_DWARF,
	/* Only an ELF symbol table: functions without lines. */
	SYM_ELF,
	/* The right file, but no symbols in it. */
	SYM_NONE,
	/* The file is gone or cannot be read. */
	SYM_MISSING,
	/* The file at that path is another build: its build-id differs, so it
	 * is not used. */
	SYM_REPLACED,
	/* Not an ELF file, or damaged. */
	SYM_UNREADABLE,
	SYM_STATUSES,
};

/* One source-level frame of an address.  Unknown parts are NULL or 0. */
struct sym_frame {
	/* Demangled for people: C++, Rust (no hash), D; plain for C. */
	const char *function;
	/* The mangled name when it differs, else NULL. */
	const char *linkage;
	/* Absolute where the debug information says so. */
	const char *file;
	/* 1-based; 0 unknown.  For an inlined frame's caller: the line of the
	 * call. */
	uint32_t line;
	/* This function's body stands inside the next frame of the same
	 * address. */
	bool inlined;
};

/* Called once for each address, in the order of the addresses given to
 * sym_resolve.  `frames` runs from the innermost (inlined) function outward to
 * the one with a symbol; `count` is 0 when neither a name nor a file is known.
 * The array is valid only during the call, its strings until sym_free. */
typedef void sym_callback(void *context, size_t index, const struct sym_frame *frames,
			  size_t count);

/* NULL only when out of memory.  `options` may be NULL; it is copied. */
struct sym *sym_new(const struct sym_options *options);
void sym_free(struct sym *sym);

/*
 * Finds the file of a module.  `path` as the target's loader named it
 * (absolute; bytes, any encoding); `build_id` as seen in the target's memory, 0
 * bytes when it had none.  A file whose build-id differs is never used
 * (SYM_REPLACED) unless separate debug information with the right build-id is
 * found. Returns the same module for the same (path, build_id).
 */
int sym_module_open(struct sym *sym, const char *path, const uint8_t *build_id,
		    size_t build_id_size, struct sym_module **module)
	__attribute__((warn_unused_result));
enum sym_status sym_module_status(const struct sym_module *module);
/* One word in lower case, as recordings have it. */
const char *sym_status_name(enum sym_status status);

/*
 * Resolves many addresses of one module at once: that is how it is fast.
 * `addresses` are link-time virtual addresses (runtime address minus load bias)
 * of the *call instruction's last byte*: the caller has already subtracted one
 * from a return address.  Any order, duplicates allowed.
 */
int sym_resolve(struct sym_module *module, const uint64_t *addresses, size_t count,
		sym_callback *callback, void *context) __attribute__((warn_unused_result));

/*
 * Calls `visit` for each function that a symbol table of the module names, as the table spells it, with its range of
 * link-time addresses, until it returns something else than 0, which is returned.  -ENOMEM when memory ends.
 */
int sym_functions(struct sym_module *module,
		  int (*visit)(void *context, const char *name, uint64_t low, uint64_t high),
		  void *context) __attribute__((warn_unused_result));

/*
 * A perf map (/tmp/perf-PID.map, lines "START SIZE NAME" in hex) of a JIT
 * compiler.  Absolute runtime addresses.  Returns NULL in *map when there is no
 * such file (0 is returned).  Lines out of form are passed over; the last line
 * wins where two overlap.
 */
struct sym_perf_map;
int sym_perf_map_open(const char *path, struct sym_perf_map **map)
	__attribute__((warn_unused_result));
/* The name of the code at an address, or NULL.  Lives until
 * sym_perf_map_close. */
const char *sym_perf_map_find(const struct sym_perf_map *map, uint64_t address);
void sym_perf_map_close(struct sym_perf_map *map);

/* A readable name for a linkage name (C++, Rust, D), or NULL when it is not
 * mangled.  malloc'ed. */
char *sym_demangle(const char *linkage);

#endif
