/* cli/rows/rows_source.h: where the rows commands read from, and the options that say how. */
#ifndef CLI_ROWS_ROWS_SOURCE_H
#define CLI_ROWS_ROWS_SOURCE_H

#include "core/options.h"
#include "core/progress.h"
#include "furrow/rows.h"

typedef enum source_api { SOURCE_PARSER, SOURCE_ITER } source_api;

typedef struct part_of {
  uint32_t part, nparts;
} part_of;

/* What the options of source_options fill. */
typedef struct source_values {
  const char *format;
  part_of part;
  furrow_key_type index;
  furrow_value_type value;
  uint32_t threads;
  furrow_on_bad on_bad;
  size_t chunk;
  source_api api;
  bool quiet;
  bool no_progress; /* set by a command that prints rows on the terminal */
} source_values;

extern const option source_options[];
void source_values_init(source_values *values);

/* Rows from a parser, from a block iterator (--api iter, or a #cachefile in the URI) or from a row cache file. */
typedef struct source {
  const char *uri;
  const source_values *values;
  furrow_parser *parser; /* beside an iterator: only to tell the format */
  furrow_blockiter *iter;
  furrow_container *container;
  bool container_given; /* its one block has been handed out */
  furrow_rowblock container_block;
  furrow_parser_stats stats; /* of the container */
  const char **names;        /* of source_column_names */
  progress progress;
} source;

/* The struct may be closed after a failure, too. */
furrow_status source_open(source *s, const char *uri, const source_values *values, furrow_error *err);
void source_close(source *s);
/* The next block, valid until the next call: FURROW_OK, FURROW_END or an error. */
furrow_status source_next(source *s, const furrow_rowblock **block, furrow_error *err);
furrow_status source_before_first(source *s, furrow_error *err);
void source_get_stats(const source *s, furrow_parser_stats *stats);
const char *source_format(const source *s);
const char *source_format_reason(const source *s);
/* The first `columns` names of a csv that has a header, NULL where there is none; good while the source is open. */
furrow_status source_column_names(source *s, uint64_t columns, const char *const **names, furrow_error *err);
/* Whether the rows can be read only once. */
bool source_is_stdin(const char *uri);
/* Whether it is a file that begins as a row cache does. */
bool source_is_cache(const char *uri);
/* Around a call that makes the cache of a URI#cachefile: a signal waits until that is done, and no hidden file is left.
 * The end gives back `status`, or E_STATE if a signal came. */
bool cache_guard_begin(const char *uri);
furrow_status cache_guard_end(bool guarded, furrow_status status, furrow_error *err);
/* Says on stderr what a parser left out and what it passed over. */
void print_notes(const furrow_parser_stats *stats);
/* Says on stderr what was left out and what was passed over. */
void source_print_notes(source *s);

#endif
