/* cli/rows/cmd_rows_info.c: furrow rows info: counts, ranges and labels of a data set. */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/ranks.h"
#include "core/report.h"
#include "rows/rows_source.h"
#include "rows/rows_summary.h"

enum { MOST_COLUMN_NAMES = 20 };

typedef struct info_values {
  source_values source;
  const char *uri;
  bool json;
} info_values;

static const option info_operands[] = {{.name = "URI",
                                        .kind = OPTION_TEXT,
                                        .help = "the rows to read",
                                        .offset = offsetof(info_values, uri),
                                        .required = true},
                                       {0}};

static const option info_options[] = {JSON_OPTION(offsetof(info_values, json)), {0}};

static const option_group info_groups[] = {
    {.title = "Options", .options = info_options},
    {.title = "Reading", .options = source_options, .offset = offsetof(info_values, source)},
    {.title = "Reading", .options = plugin_options},
    {0}};

static void info_init(void *values) {
  source_values_init(&((info_values *)values)->source);
}

/* ---- Report --------------------------------------------------------------------------------------------- */

static void report_reading(report *r, const source *s) {
  report_text(r, "uri", s->uri);
  report_text(r, "format", source_format(s));
  report_text(r, "chosen by", source_format_reason(s));
  if (s->values->part.nparts > 1 && !s->values->divided) {
    char part[32];
    snprintf(part, sizeof part, "%" PRIu32 "/%" PRIu32, s->values->part.part, s->values->part.nparts);
    report_text(r, "part", part);
  }
  report_text(r, "index type", furrow_key_type_name(s->values->index));
  report_text(r, "value type", furrow_value_type_name(s->values->value));
  if (s->parser) report_u64(r, "index base", furrow_parser_index_base(s->parser));
}

static void report_range(report *r, const char *name, const range_summary *range) {
  if (range->min > range->max) {
    report_none(r, name);
    return;
  }
  report_line(r, name, "%" PRIu64 " to %" PRIu64, range->min, range->max);
  if (!r->json) return;
  report_section(r, name);
  report_u64(r, "min", range->min);
  report_u64(r, "max", range->max);
  report_end(r);
}

static void report_shape(report *r, const rows_summary *summary) {
  double rows = (double)summary->rows;
  uint64_t columns = summary_columns(summary);
  report_u64(r, "rows", summary->rows);
  report_u64(r, "features", summary->features);
  report_u64(r, "columns", columns);
  report_range(r, "indices", &summary->index);
  report_range(r, "fields", &summary->field);
  report_f64(r, "density", columns ? (double)summary->features / (rows * (double)columns) : NAN);
  if (summary->rows == 0) {
    report_none(r, "features per row");
    return;
  }
  double mean = (double)summary->features / rows;
  report_line(r, "features per row", "%" PRIu64 " to %" PRIu64 ", mean %.6g; rows without any: %" PRIu64,
              summary->fewest_features, summary->most_features, mean, summary->empty_rows);
  if (!r->json) return;
  report_section(r, "features per row");
  report_u64(r, "min", summary->fewest_features);
  report_u64(r, "max", summary->most_features);
  report_f64(r, "mean", mean);
  report_u64(r, "empty rows", summary->empty_rows);
  report_end(r);
}

/* The shortest decimal that reads back to the float: 0.1, not 0.10000000149011612. */
static double as_decimal(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  return strtod(text, NULL);
}

static void report_extremes(report *r, const number_summary *numbers, furrow_value_type type) {
  bool any = numbers->count > numbers->nans + numbers->infinities;
  if (type == FURROW_VALUE_F32) {
    report_f64(r, "min", any ? as_decimal((float)numbers->min) : NAN);
    report_f64(r, "max", any ? as_decimal((float)numbers->max) : NAN);
  } else {
    report_i64(r, "min", numbers->least);
    report_i64(r, "max", numbers->most);
  }
  report_f64(r, "mean", number_mean(numbers));
}

static void report_numbers(report *r, const char *name, const number_summary *numbers, furrow_value_type type) {
  if (numbers->count == 0) {
    report_none(r, name);
    return;
  }
  report_section(r, name);
  report_u64(r, "count", numbers->count);
  report_extremes(r, numbers, type);
  report_u64(r, "zeros", numbers->zeros);
  if (r->json || numbers->nans) report_u64(r, "nan", numbers->nans);
  if (r->json || numbers->infinities) report_u64(r, "infinite", numbers->infinities);
  report_end(r);
}

static int compare_labels(const void *a, const void *b) {
  const label_count *x = a, *y = b;
  if (x->type != FURROW_VALUE_F32) return (x->integer > y->integer) - (x->integer < y->integer);
  if (isnan(x->real) || isnan(y->real)) return isnan(x->real) - isnan(y->real);
  return (x->real > y->real) - (x->real < y->real);
}

static void label_text(const label_count *label, char *text, size_t size) {
  if (label->type == FURROW_VALUE_F32)
    snprintf(text, size, "%.9g", as_decimal((float)label->real));
  else
    snprintf(text, size, "%" PRId64, label->integer);
}

static void report_label_count(report *r, const label_count *label) {
  char value[32], text[64];
  label_text(label, value, sizeof value);
  snprintf(text, sizeof text, "%s (%" PRIu64 ")", value, label->rows);
  if (!r->json) {
    report_text(r, NULL, text);
    return;
  }
  report_section(r, NULL);
  if (label->type == FURROW_VALUE_F32)
    report_f64(r, "value", as_decimal((float)label->real));
  else
    report_i64(r, "value", label->integer);
  report_u64(r, "rows", label->rows);
  report_end(r);
}

static void report_labels(report *r, const rows_summary *summary) {
  if (summary->label.count == 0) {
    report_none(r, "labels");
    return;
  }
  size_t distinct = summary->distinct_labels;
  label_count sorted[SUMMARY_DISTINCT];
  memcpy(sorted, summary->labels, sizeof sorted);
  report_section(r, "labels");
  if (distinct <= SUMMARY_DISTINCT) {
    qsort(sorted, distinct, sizeof *sorted, compare_labels);
    report_u64(r, "distinct", distinct);
    report_list(r, "values");
    for (size_t i = 0; i < distinct; i++) report_label_count(r, &sorted[i]);
    report_end(r);
  } else if (r->json) {
    report_none(r, "distinct");
  } else {
    report_line(r, "distinct", "more than %d", SUMMARY_DISTINCT);
  }
  report_extremes(r, &summary->label, summary->value_type);
  if (r->json || summary->label.nans) report_u64(r, "nan", summary->label.nans);
  report_end(r);
}

static void report_queries(report *r, const rows_summary *summary) {
  if (summary->qid_rows == 0) {
    report_none(r, "queries");
    return;
  }
  report_section(r, "queries");
  report_u64(r, "rows with qid", summary->qid_rows);
  report_bool(r, "sorted", !summary->qid_unsorted);
  /* in unsorted data a query may occur again: the runs are known, the number of queries is not */
  report_u64(r, summary->qid_unsorted ? "runs" : "count", summary->qid_runs);
  report_end(r);
}

static void report_column_name(report *r, const char *name) {
  char quoted[128];
  if (!name) {
    report_none(r, NULL);
  } else if (!r->json && strchr(name, ',')) {
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    report_text(r, NULL, quoted);
  } else {
    report_text(r, NULL, name);
  }
}

/* The column by its name, or by its number where it has none. */
static void report_special(report *r, const char *what, int64_t column, const char *name) {
  if (column < 0) return;
  if (name)
    report_text(r, what, name);
  else
    report_i64(r, what, column);
}

static void report_column_names(report *r, const furrow_parser *parser) {
  size_t count = furrow_parser_column_count(parser);
  report_special(r, "label column", furrow_parser_label_column(parser), furrow_parser_label_name(parser));
  report_special(r, "weight column", furrow_parser_weight_column(parser), furrow_parser_weight_name(parser));
  if (count == 0) return;
  report_list(r, "column names");
  for (size_t i = 0; i < count && i < MOST_COLUMN_NAMES; i++)
    report_column_name(r, furrow_parser_column_name(parser, i));
  if (!r->json && count > MOST_COLUMN_NAMES) report_text(r, NULL, "...");
  report_end(r);
  report_u64(r, "named columns", count);
}

static void report_blocks(report *r, const rows_summary *summary) {
  if (summary->blocks == 0) {
    report_none(r, "blocks");
    return;
  }
  report_section(r, "blocks");
  report_u64(r, "count", summary->blocks);
  report_u64(r, "min rows", summary->fewest_rows);
  report_u64(r, "max rows", summary->most_rows);
  report_u64(r, "bytes in memory", summary->block_bytes);
  report_end(r);
}

static uint32_t threads_used(uint32_t asked) {
  cpu_set_t processors;
  if (asked > 0) return asked;
  return sched_getaffinity(0, sizeof processors, &processors) == 0 ? (uint32_t)CPU_COUNT(&processors) : 1;
}

static void report_speed(report *r, const source *s, const furrow_parser_stats *stats, double seconds) {
  report_u64(r, "bad rows", stats->bad_rows);
  report_u64(r, "ignored text", stats->ignored);
  bool text = stats->bytes > 0; /* a cache holds no text */
  if (text) report_u64(r, "bytes", stats->bytes);
  report_f64(r, "seconds", round(seconds * 1e6) / 1e6);
  if (text) report_f64(r, "MB per second", seconds > 0 ? round((double)stats->bytes * 1e-5 / seconds) / 10 : NAN);
  if (ranks_count() > 1) report_u64(r, "ranks", ranks_count());
  report_u64(r, "threads", threads_used(s->values->threads));
}

static void report_all(report *r, const source *s, const rows_summary *summary, const furrow_parser_stats *stats,
                       double seconds) {
  report_reading(r, s);
  report_shape(r, summary);
  report_labels(r, summary);
  report_numbers(r, "values", &summary->value, summary->value_type);
  report_numbers(r, "weights", &summary->weight, FURROW_VALUE_F32);
  report_queries(r, summary);
  if (s->parser) report_column_names(r, s->parser);
  report_blocks(r, summary);
  report_speed(r, s, stats, seconds);
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status summarise(source *s, rows_summary *summary, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status;
  while ((status = source_next(s, &block, err)) == FURROW_OK) summary_add(summary, block);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status info_run(const void *values, output *out, furrow_error *err) {
  info_values info = *(const info_values *)values;
  rows_summary summary;
  furrow_parser_stats stats;
  source s = {0};
  double began = now_seconds();
  summary_init(&summary, info.source.value);
  info.source.whole_chunks = true;
  furrow_status status = source_divide(&info.source, info.uri, err);
  if (status == FURROW_OK) status = source_open(&s, info.uri, &info.source, err);
  if (status == FURROW_OK) status = summarise(&s, &summary, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = summary_join(&summary, err);
  if (status == FURROW_OK) status = source_join_stats(&s, &stats, err);
  if (status == FURROW_OK && ranks_number() == 0) {
    report r;
    double seconds = now_seconds() - began;
    report_start(&r, out, info.json);
    report_all(&r, &s, &summary, &stats, seconds);
    report_finish(&r);
    status = output_flush(out, err);
    source_print_notes(&s, &stats);
  }
  source_close(&s);
  return status;
}

const command rows_info_command = {
    .name = "info",
    .summary = "summarise a data set: counts, ranges, labels, format",
    .example = "furrow rows info train.libsvm\nfurrow rows info --json 'clicks.csv?label_column=0'",
    .about = "Reads all rows once. The report counts skipped text and, with --on-bad skip, skipped rows. Under mpirun "
             "every rank reads a part, and the report is about all rows.",
    .operands = info_operands,
    .groups = info_groups,
    .size = sizeof(info_values),
    .init = info_init,
    .run = info_run,
    .on_all_ranks = true,
};
