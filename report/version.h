/* SPDX-License-Identifier: MIT */
/*
 * The version of memtrack, as recordings and reports carry it.  The Makefile
 * may set it with -D.
 */
#ifndef MEMTRACK_REPORT_VERSION_H
#define MEMTRACK_REPORT_VERSION_H

#ifndef MEMTRACK_VERSION
# define MEMTRACK_VERSION "0.1.0"
#endif

#endif
