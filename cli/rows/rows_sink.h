/* cli/rows/rows_sink.h: how the rows commands write rows, and the options for it. */
#ifndef CLI_ROWS_ROWS_SINK_H
#define CLI_ROWS_ROWS_SINK_H

#include "core/options.h"
#include "furrow/rows.h"
#include "rows/rows_source.h"

/* In the order of the names that --to takes. */
typedef enum sink_format { SINK_LIBSVM, SINK_LIBFM, SINK_LIBFFM, SINK_CSV, SINK_CACHE, SINK_FORMATS } sink_format;

/* What the options of sink_options fill. */
typedef struct sink_values {
  sink_format to; /* SINK_FORMATS: not given */
  uint64_t columns;
  char delimiter;
  bool header;
  bool with_weight;
  bool zeros;
  int index_base; /* 0 or 1 */
  bool force;
  bool drop_fields;
  bool per_rank; /* every rank writes a file of its own */
} sink_values;

extern const option sink_options[];
void sink_values_init(sink_values *values);

/* "libsvm" … and the ending that a file of it gets: ".libsvm" … */
const char *sink_format_name(sink_format format);
const char *sink_format_ending(sink_format format);
/* Find a format by its name or by the ending of a path; SINK_FORMATS: none. */
sink_format sink_format_named(const char *name);
sink_format sink_format_of_path(const char *path);

/* The file that this rank writes with --per-rank: "rows.csv" is "rows-00001-of-00004.csv" for the second of four. To be
 * freed. */
furrow_status sink_rank_path(const char *path, char **own, furrow_error *err);

/* Sets the parameters of a writer, valid while the source is open. For csv without --columns, a pass over the source
 * finds the columns and whether there are weights; then the source is back at its first row. All ranks of a divided
 * source call it. */
furrow_status sink_params(const sink_values *values, sink_format format, source *s, furrow_rows_writer_params *params,
                          furrow_error *err);
/* Writes all rows of the source; the caller commits the file. All ranks of a divided source call it, also those that
 * failed before (`status`). A signal is an error. */
furrow_status sink_copy_rows(source *s, furrow_rows_writer *writer, furrow_status status, furrow_error *err);
/* E_ARGUMENT: several ranks cannot write to standard output together. */
furrow_status sink_check_stdout(furrow_error *err);

#endif
