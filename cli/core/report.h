/* cli/core/report.h: one set of facts, printed as an aligned table or as JSON.
 *
 * Names are written with blanks ("index base"); JSON has them with underscores. In JSON a number that is not finite is
 * null, and text that is not UTF-8 is mended.
 */
#ifndef CLI_CORE_REPORT_H
#define CLI_CORE_REPORT_H

#include <stdbool.h>

#include "core/output.h"

typedef struct report {
  output *out;
  bool json;
  bool in_list[8];
  bool empty; /* nothing is in the innermost section or list yet */
  unsigned depth;
} report;

void report_start(report *r, output *out, bool json);
void report_finish(report *r);

/* A group of facts under a name. In a list, name is NULL. */
void report_section(report *r, const char *name);
/* Facts of one kind. In the table its items share a line. */
void report_list(report *r, const char *name);
/* Ends the innermost section or list. */
void report_end(report *r);

/* In a list, name is NULL. */
void report_text(report *r, const char *name, const char *text);
void report_u64(report *r, const char *name, uint64_t value);
void report_i64(report *r, const char *name, int64_t value);
void report_f64(report *r, const char *name, double value);
void report_bool(report *r, const char *name, bool value);
/* null in JSON, "none" in the table. */
void report_none(report *r, const char *name);
/* A line for the table alone: for what JSON says otherwise. */
void report_line(report *r, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
