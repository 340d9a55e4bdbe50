/* cli/core/report.h: named values, printed as an aligned table or as JSON.
 *
 * Names are written with blanks ("index base"); JSON has underscores instead. In JSON a number that is not finite is
 * null, and invalid UTF-8 is replaced.
 */
#ifndef CLI_CORE_REPORT_H
#define CLI_CORE_REPORT_H

#include <stdbool.h>

#include "core/output.h"

typedef struct report {
  output *out;
  bool json;
  bool in_list[8];
  bool empty; /* the innermost section or list has no items yet */
  unsigned depth;
} report;

/* Prints a text as JSON has it, in quotes. */
void output_json_text(output *out, const char *text);

void report_start(report *r, output *out, bool json);
void report_finish(report *r);

/* Starts a group of items under a name. In a list, name is NULL. */
void report_section(report *r, const char *name);
/* Starts a list. In the table its items share a line. */
void report_list(report *r, const char *name);
/* Ends the innermost section or list. */
void report_end(report *r);

/* In a list, name is NULL. */
void report_text(report *r, const char *name, const char *text);
/* Reports that a file or directory was written, which completes the command (output.stored). */
void report_written(report *r, const char *path);
void report_u64(report *r, const char *name, uint64_t value);
void report_i64(report *r, const char *name, int64_t value);
void report_f64(report *r, const char *name, double value);
void report_bool(report *r, const char *name, bool value);
/* null in JSON, "none" in the table. */
void report_none(report *r, const char *name);
/* Prints a line in the table only, for values that JSON presents differently. */
void report_line(report *r, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
