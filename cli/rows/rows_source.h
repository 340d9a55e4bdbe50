/* cli/rows/rows_source.h: how the rows commands read rows, and the options for it. */
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
  size_t chunk, max_line; /* 0: the defaults */
  source_api api;
  bool quiet;
  bool no_progress;  /* set by a command that prints rows to the terminal */
  bool divided;      /* set by source_divide: the part belongs to this rank */
  bool whole_chunks; /* set by a command whose parts must have the blocks of the whole */
} source_values;

extern const option source_options[];
void source_values_init(source_values *values);

/* Rows from a parser, from a block iterator (--api iter, or a #cachefile in the URI) or from a row cache file. */
typedef struct source {
  const char *uri;
  const source_values *values;
  furrow_parser *parser; /* with an iterator: only names the format */
  furrow_blockiter *iter;
  furrow_container *container;
  bool container_given; /* its only block was returned */
  furrow_rowblock container_block;
  furrow_parser_stats stats; /* statistics of the container */
  const char **names;        /* result of source_column_names */
  progress progress;
} source;

/* If there are several ranks, restricts the source to the part of this rank. E_ARGUMENT: the source cannot be divided,
 * because it is standard input or already a part. */
furrow_status source_divide(source_values *values, const char *uri, furrow_error *err);
/* Close it, even after a failure. */
furrow_status source_open(source *s, const char *uri, const source_values *values, furrow_error *err);
void source_close(source *s);
/* Returns the next block, valid until the next call; FURROW_END at the end. */
furrow_status source_next(source *s, const furrow_rowblock **block, furrow_error *err);
furrow_status source_before_first(source *s, furrow_error *err);
void source_get_stats(const source *s, furrow_parser_stats *stats);
/* The same, of all ranks' parts. All ranks call it. */
furrow_status source_join_stats(const source *s, furrow_parser_stats *stats, furrow_error *err);
furrow_status join_stats(furrow_parser_stats *stats, furrow_error *err);
const char *source_format(const source *s);
const char *source_format_reason(const source *s);
/* Returns the first `columns` names of a csv with a header, NULL without one; valid while the source is open. */
furrow_status source_column_names(source *s, uint64_t columns, const char *const **names, furrow_error *err);
/* Returns whether the rows can be read only once. */
bool source_is_stdin(const char *uri);
/* Returns whether the file begins like a row cache. */
bool source_is_cache(const char *uri);
/* Surround a call that writes the cache of a URI#cachefile: a signal waits until that is done, so that no hidden file
 * is left. The end returns `status`, or E_STATE after a signal. */
bool cache_guard_begin(const char *uri);
furrow_status cache_guard_end(bool guarded, furrow_status status, furrow_error *err);
/* Prints notes about rows and text that a parser skipped to stderr. */
void print_notes(const furrow_parser_stats *stats);
/* Prints notes about skipped rows and skipped text to stderr, of all ranks' parts. */
void source_print_notes(source *s, const furrow_parser_stats *stats);

#endif
