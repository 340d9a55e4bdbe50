/* cli/model/cmd_model_importance.c: furrow model importance: lists the features that the trees of a gbdt model use. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "core/text_columns.h"
#include "draw/chart.h"
#include "learn/model_names.h"
#include "model/model_source.h"

typedef enum measure { BY_GAIN, BY_COVER, BY_COUNT, BY_WHAT_THERE_IS } measure;

static const char *const measure_names[] = {"gain", "cover", "count"};

typedef struct importance_values {
  const char *path, *svg;
  measure by;
  uint64_t top; /* 0: all */
  bool json, force;
  uint32_t threads;
} importance_values;

static const option importance_operands[] = {{.name = "DIR",
                                              .kind = OPTION_TEXT,
                                              .help = "a gbdt model directory, Furrow's or Angel's",
                                              .offset = offsetof(importance_values, path),
                                              .required = true,
                                              .watched = true},
                                             {0}};

#define AT(field) offsetof(importance_values, field)
static const option importance_options[] = {
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "gain|cover|count",
     .help = "measure to sort by (gain; count if the model has no gains)",
     .offset = AT(by)},
    {.name = "top", .kind = OPTION_U64, .argument = "N", .help = "print the first N features (all)", .offset = AT(top)},
    {.name = "svg",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "also draw bars (at most 100)",
     .offset = AT(svg),
     .written = true},
    FORCE_OPTION(AT(force)),
    {0}};
#undef AT

static const option_group importance_groups[] = {
    {.title = "Selection", .options = importance_options},
    {.title = "Options", .options = json_options, .offset = offsetof(importance_values, json)},
    {.title = "Options", .options = threads_options, .offset = offsetof(importance_values, threads)},
    {.title = "Options", .options = plugin_options},
    {0}};

static void importance_init(void *values) {
  ((importance_values *)values)->by = BY_WHAT_THERE_IS;
}

static double measure_of(const furrow_feature_importance *of, measure by) {
  return by == BY_GAIN ? of->gain : by == BY_COVER ? of->cover : (double)of->count;
}

/* ---- Sorting ---- */

static int compare_importance(const furrow_feature_importance *x, const furrow_feature_importance *y, measure by) {
  const double a = measure_of(x, by), b = measure_of(y, by);
  if (a != b) return a < b ? 1 : -1;
  return (x->feature > y->feature) - (x->feature < y->feature);
}

static int by_gain(const void *a, const void *b) {
  return compare_importance(a, b, BY_GAIN);
}

static int by_cover(const void *a, const void *b) {
  return compare_importance(a, b, BY_COVER);
}

static int by_count(const void *a, const void *b) {
  return compare_importance(a, b, BY_COUNT);
}

static furrow_status sort_features(furrow_feature_importance *list, size_t count, bool sums, measure *by,
                                   furrow_error *err) {
  static int (*const orders[])(const void *, const void *) = {by_gain, by_cover, by_count};
  if (*by == BY_WHAT_THERE_IS) *by = sums ? BY_GAIN : BY_COUNT;
  if (*by != BY_COUNT && !sums)
    return fail(err, FURROW_E_ARGUMENT, "--by %s: the model does not store it", measure_names[*by]),
           add_hint(err, "train with --node-stats yes to store it, or use --by count");
  if (count > 0) qsort(list, count, sizeof *list, orders[*by]);
  return FURROW_OK;
}

/* ---- Telling ---- */

static double sum_of(const furrow_feature_importance *list, size_t count, measure by) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += measure_of(&list[i], by);
  return sum;
}

/* The sorted features, and what the report needs to describe them. */
typedef struct ranking {
  const furrow_scorer *scorer;
  const furrow_feature_importance *list;
  size_t count, shown;
  bool sums; /* the model has gains and covers */
  measure by;
} ranking;

static furrow_status print_list(const ranking *of, output *out, furrow_error *err) {
  const double sum = sum_of(of->list, of->count, of->by);
  table t;
  table_start(&t, of->sums ? "feature|splits|share|gain|cover" : "feature|splits|share");
  for (size_t i = 0; i < of->shown; i++) {
    const furrow_feature_importance *item = &of->list[i];
    char name[FEATURE_NAME];
    table_cell(&t, "%s", feature_name(of->scorer, (uint64_t)item->feature, name));
    table_cell(&t, "%" PRIu64, item->count);
    table_cell(&t, "%.4f", sum > 0 ? measure_of(item, of->by) / sum : 0);
    if (!of->sums) continue;
    table_cell(&t, "%.6g", item->gain);
    table_cell(&t, "%.6g", item->cover);
  }
  return table_finish(&t, 0, out, err);
}

static void report_features(const ranking *of, output *out) {
  report r;
  report_start(&r, out, true);
  report_text(&r, "by", measure_names[of->by]);
  report_u64(&r, "features", of->count);
  report_list(&r, "importance");
  for (size_t i = 0; i < of->shown; i++) {
    const furrow_feature_importance *item = &of->list[i];
    const char *name = furrow_scorer_feature_name(of->scorer, (uint64_t)item->feature);
    report_section(&r, NULL);
    report_i64(&r, "feature", item->feature);
    if (name) report_text(&r, "name", name);
    report_u64(&r, "count", item->count);
    if (of->sums) report_f64(&r, "gain", item->gain);
    if (of->sums) report_f64(&r, "cover", item->cover);
    report_end(&r);
  }
  report_end(&r);
  report_finish(&r);
}

static furrow_status draw_importance(const importance_values *v, const ranking *of, furrow_error *err) {
  enum { MOST_BARS = 100 };
  bar bars[MOST_BARS];
  char title[64], note[96];
  const size_t drawn = of->shown < MOST_BARS ? of->shown : MOST_BARS;
  for (size_t i = 0; i < drawn; i++) {
    const char *name = furrow_scorer_feature_name(of->scorer, (uint64_t)of->list[i].feature);
    if (name && *name)
      snprintf(bars[i].name, sizeof bars[i].name, "%s", name);
    else
      snprintf(bars[i].name, sizeof bars[i].name, "feature %" PRId32, of->list[i].feature);
    bars[i].value = fmax(measure_of(&of->list[i], of->by), 0);
  }
  snprintf(title, sizeof title, "feature importance by %s", measure_names[of->by]);
  snprintf(note, sizeof note, "%zu of %zu features that the trees use", drawn, of->count);
  return bars_write(v->svg, title, note, bars, drawn, v->force, err);
}

static furrow_status print_report(const importance_values *v, const furrow_scorer *scorer,
                                  furrow_feature_importance *list, size_t count, output *out, furrow_error *err) {
  furrow_forest_info info;
  furrow_forest_info_init(&info);
  furrow_scorer_get_forest_info(scorer, &info);
  const size_t shown = v->top > 0 && v->top < count ? (size_t)v->top : count;
  ranking of = {.scorer = scorer, .list = list, .count = count, .shown = shown, .sums = info.sums, .by = v->by};
  furrow_status status = sort_features(list, count, info.sums, &of.by, err);
  if (status != FURROW_OK) return status;
  if (v->json)
    report_features(&of, out);
  else
    status = print_list(&of, out, err);
  return status == FURROW_OK && v->svg ? draw_importance(v, &of, err) : status;
}

static furrow_status importance_run(const void *values, output *out, furrow_error *err) {
  const importance_values *v = values;
  furrow_scorer *scorer = NULL;
  furrow_feature_importance *list = NULL;
  size_t count = 0;
  furrow_status status = forest_open(&scorer, v->path, v->threads, err);
  if (status == FURROW_OK) status = furrow_scorer_feature_importance(scorer, &list, &count, err);
  if (status == FURROW_OK) status = print_report(v, scorer, list, count, out, err);
  furrow_free(list);
  furrow_scorer_free(scorer);
  return status;
}

const command model_importance_command = {
    .name = "importance",
    .summary = "list the features that the trees of a gbdt model split on, with their gains",
    .example = "furrow model importance clicks --top 20\nfurrow model importance clicks --by count --svg bars.svg",
    .about =
        "For each feature, adds up the splits that use it: their number, their gains and their covers (the sums of the "
        "hessians of the rows that reach them). A model has gains and covers if it was trained with --node-stats yes. "
        "Features are columns of the model, counted from 0. The share refers to the measure that sorts the list.",
    .operands = importance_operands,
    .groups = importance_groups,
    .size = sizeof(importance_values),
    .init = importance_init,
    .run = importance_run,
};
