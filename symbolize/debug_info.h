/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of one module: from addresses to functions, inlined calls and
 * lines.
 */
#ifndef MEMTRACK_SYMBOLIZE_DEBUG_INFO_H
#define MEMTRACK_SYMBOLIZE_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/function.h"
#include "symbolize/symbolize.h"

struct debug_info;
struct elf_file;
struct names;

/* Longer chains of inlined calls are cut. */
#define DEBUG_FRAMES_MAX 256

/* `file` has the DWARF, `supplement` (or NULL) what dwz moved out of it; `find`
 * asks the symbol table. All must outlive the result.  0, -ENOMEM, or -ENOEXEC
 * when it is damaged. */
int debug_info_open(const struct elf_file *file, const struct elf_file *supplement,
		    struct names *names, symbol_finder *find, void *find_context,
		    struct debug_info **info) __attribute__((warn_unused_result));
void debug_info_close(struct debug_info *info);
/* Whether so much has been read that it should be closed and opened anew: libdw
 * forgets nothing. */
bool debug_info_is_large(const struct debug_info *info);

/*
 * The frames of an address, innermost first, at most DEBUG_FRAMES_MAX.  Sets
 * *count to 0 when nothing covers it.  Where only the line is known there is
 * one frame without a function.  0 or -ENOMEM. Fast for addresses in ascending
 * order.
 */
int debug_info_frames(struct debug_info *info, uint64_t address, struct sym_frame *frames,
		      size_t *count) __attribute__((warn_unused_result));

#endif
