/* SPDX-License-Identifier: MIT */
/*
 * report/schema.sql as text: the build turns it into a C source, for the writer
 * to run.
 */
#ifndef MEMTRACK_REPORT_SCHEMA_H
#define MEMTRACK_REPORT_SCHEMA_H

extern const char rec_schema_sql[];

#endif
