/* cli/info/path_rows.c: rows for 'furrow info': text in any format, a folder of it, a row cache. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "info/path_kind.h"
#include "rows/rows_source.h"
#include "rows/rows_summary.h"

/* Bytes of text that are read; the rest of a large file is ignored. */
enum { HEAD_BYTES = 1 << 20 };

/* ---- The first rows ------------------------------------------------------------------------------------- */

typedef struct first_rows {
  source_values values;
  source source;
  rows_summary summary;
  bool all; /* the rows are complete */
} first_rows;

static furrow_status read_first(first_rows *first, const char *path, furrow_on_bad on_bad, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  source_values_init(&first->values);
  first->values.quiet = true;
  first->values.threads = 1;
  first->values.chunk = HEAD_BYTES;
  first->values.on_bad = on_bad;
  first->all = false;
  summary_init(&first->summary, first->values.value);
  furrow_status status = source_open(&first->source, path, &first->values, err);
  if (status == FURROW_OK) status = source_next(&first->source, &block, err);
  if (status == FURROW_OK) {
    summary_add(&first->summary, block);
    status = source_next(&first->source, &block, err);
  }
  first->all = status == FURROW_END;
  return first->all ? FURROW_OK : status;
}

/* Text of which at least half of the lines are rows. */
static bool is_rows(const path_inspection *look) {
  first_rows first;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  furrow_error err;
  const furrow_status status = read_first(&first, look->path, FURROW_ON_BAD_SKIP, &err);
  if (status == FURROW_OK) source_get_stats(&first.source, &stats);
  source_close(&first.source);
  return status == FURROW_OK && first.summary.rows > 0 && first.summary.rows >= stats.bad_rows;
}

/* ---- Telling -------------------------------------------------------------------------------------------- */

static void report_first(report *r, const first_rows *first) {
  const rows_summary *s = &first->summary;
  report_u64(r, first->all ? "rows" : "first rows", s->rows);
  report_u64(r, first->all ? "features" : "features of these", s->features);
  report_u64(r, first->all ? "columns" : "columns of these", summary_columns(s));
  report_bool(r, "labels", s->label.count > 0);
  report_bool(r, "weights", s->weight.count > 0);
  report_bool(r, "fields", s->field.min <= s->field.max);
}

static bool can_train(const first_rows *first, const char *format) {
  return first->summary.rows > 1 && strcmp(format, "cache") != 0;
}

/* The label column of a csv file is in the path's arguments, or only the user knows it. */
static void advise_csv(path_inspection *look) {
  if (strpbrk(look->path, "?#"))
    path_advise(look, "furrow train --model lr --format csv --train @ --out MODEL");
  else
    path_advise(look, "furrow train --model lr --format csv --train @?label_column=NAME --out @.model");
}

static void advise_rows(path_inspection *look, const first_rows *first) {
  const char *format = source_format(&first->source);
  char train[160];
  path_advise(look, "furrow rows info @");
  path_advise(look, "furrow rows dump --head 3 @");
  if (!can_train(first, format)) {
    path_advise(look, "furrow rows convert @ - --to csv | head");
    return;
  }
  if (strcmp(format, "csv") == 0) {
    advise_csv(look);
    return;
  }
  path_advise(look, "furrow rows split @ --out @.parts/ --fractions 0.8,0.2");
  if (strcmp(format, "dense") == 0) /* Angel's dense rows do not store the number of columns */
    snprintf(train, sizeof train, "furrow train --model lr --format dense --range %" PRIu64 " --train @ --out @.model",
             summary_columns(&first->summary));
  else
    snprintf(train, sizeof train, "furrow train --model lr --format %s --index-base auto --train @ --out @.model",
             format);
  path_advise(look, train);
}

static void advise_damaged(path_inspection *look, const first_rows *first) {
  if (first->source.container) return;
  path_advise(look, "furrow rows info --on-bad skip @");
  path_advise(look, "furrow rows dump --on-bad skip @ | head");
}

static furrow_status describe_rows(path_inspection *look, furrow_error *err) {
  first_rows first;
  const furrow_status status = read_first(&first, look->path, FURROW_ON_BAD_ERROR, err);
  if (first.source.parser || first.source.container) {
    report_text(look->r, "format", source_format(&first.source));
    report_text(look->r, "chosen by", source_format_reason(&first.source));
  }
  if (status == FURROW_OK) {
    report_first(look->r, &first);
    advise_rows(look, &first);
  } else {
    advise_damaged(look, &first);
  }
  source_close(&first.source);
  return status;
}

static bool is_cache(const path_inspection *look) {
  return !look->folder && source_is_cache(look->path);
}

const path_kind row_cache_kind = {"row cache", "parsed rows in Furrow's cache format", is_cache, describe_rows};
const path_kind rows_kind = {"rows", "sparse samples as text", is_rows, describe_rows};
