/* cli/model/cmd_model_weights.c: furrow model weights: lists the weights of features that are added to the score. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "core/text_columns.h"
#include "learn/model_names.h"
#include "learn/scoring.h"

enum { DEFAULT_TOP = 20 };

typedef struct weights_values {
  scoring_values scoring; /* model, conf, algorithm, definitions, threads */
  const char *features;   /* as written; NULL: the largest */
  uint64_t top;           /* 0: all; UINT64_MAX: not given */
  bool json;
} weights_values;

static const option weights_operands[] = {{.name = "DIR",
                                           .kind = OPTION_TEXT,
                                           .help = "a model directory, Furrow's or Angel's",
                                           .offset = offsetof(weights_values, scoring.model),
                                           .required = true,
                                           .watched = true},
                                          {0}};

#define AT(field) offsetof(weights_values, field)
static const option weights_options[] = {
    {.name = "top",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "list the N features with the largest weights, of each class (20; 0: all)",
     .offset = AT(top)},
    {.name = "feature",
     .kind = OPTION_TEXT,
     .argument = "F,F,…",
     .help = "list these features instead, in this order",
     .offset = AT(features)},
    {0}};

static const option_group weights_groups[] = {
    {.title = "Selection", .options = weights_options},
    {.title = "Options", .options = graph_options, .offset = AT(scoring)},
    {.title = "Options", .options = json_options, .offset = AT(json)},
    {.title = "Options", .options = threads_options, .offset = AT(scoring.threads)},
    {.title = "Options", .options = plugin_options},
    {0}};
#undef AT

static void weights_init(void *values) {
  ((weights_values *)values)->top = UINT64_MAX;
}

/* ---- The largest weights of a class ---- */

typedef struct weighted {
  uint64_t feature;
  double weight, norm; /* norm: of its vector; NaN: there is none */
} weighted;

typedef struct weighted_list {
  weighted *items;
  size_t count, capacity;
  uint64_t most; /* number of the largest items to keep; 0: all, in the order in which they were added */
} weighted_list;

/* Sorts by falling weight, NaN first; ties by ascending feature. */
static int compare_weights(const void *a, const void *b) {
  const weighted *x = a, *y = b;
  const double l = isnan(x->weight) ? INFINITY : fabs(x->weight), r = isnan(y->weight) ? INFINITY : fabs(y->weight);
  if (l != r) return l < r ? 1 : -1;
  return (x->feature > y->feature) - (x->feature < y->feature);
}

static void sort_list(weighted_list *list) {
  if (list->count > 1) qsort(list->items, list->count, sizeof *list->items, compare_weights);
  if (list->most > 0 && list->count > list->most) list->count = (size_t)list->most;
}

/* Sorts and cuts the list when it has twice as many items as are kept, so that memory does not grow with the model. */
static furrow_status add_item(weighted_list *list, const weighted *item, furrow_error *err) {
  if (list->most > 0 && list->count / 2 > list->most) sort_list(list);
  void *items = list->items;
  if (fw_grow(&items, &list->capacity, list->count + 1, sizeof *list->items, NULL) != FURROW_OK)
    return fail_memory(err);
  list->items = items;
  list->items[list->count++] = *item;
  return FURROW_OK;
}

/* ---- Gathering ---- */

typedef struct gathering {
  const furrow_scorer *scorer;
  size_t classes, feature_count; /* features of the model */
  uint64_t *features;
  double *bias, *weights;
  weighted_list *lists; /* lists of each class */
  bool norms;           /* the model has vectors */
} gathering;

/* Adds a feature to the list of each class; weights of 0 only if `zeros` is set, or if the feature has a vector. */
static furrow_status add_feature(gathering *g, uint64_t feature, bool zeros, furrow_error *err) {
  weighted item = {.feature = feature};
  furrow_status status = furrow_scorer_feature_weights(g->scorer, feature, g->weights, &item.norm, err);
  g->norms |= !isnan(item.norm);
  for (size_t c = 0; status == FURROW_OK && c < g->classes; c++) {
    item.weight = g->weights[c];
    if (zeros || item.weight != 0 || item.norm > 0) status = add_item(&g->lists[c], &item, err);
  }
  return status;
}

static furrow_status gather_largest(gathering *g, uint64_t top, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t c = 0; c < g->classes; c++) g->lists[c].most = top;
  for (size_t i = 0; status == FURROW_OK && i < g->feature_count; i++)
    status = add_feature(g, g->features[i], false, err);
  for (size_t c = 0; c < g->classes; c++) sort_list(&g->lists[c]);
  return status;
}

static furrow_status gather_named(gathering *g, const char *names, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (const char *name = names; status == FURROW_OK && name;) {
    const size_t size = strcspn(name, ",");
    uint64_t feature = 0;
    status = feature_parse(g->scorer, name, size, &feature, err);
    if (status == FURROW_OK &&
        (g->feature_count == 0 || !bsearch(&feature, g->features, g->feature_count, sizeof feature, fw_compare_u64)))
      status = fail(err, FURROW_E_RANGE, "the model does not have feature %.*s", (int)size, name);
    if (status == FURROW_OK) status = add_feature(g, feature, true, err);
    name = name[size] ? name + size + 1 : NULL;
  }
  return status;
}

static furrow_status gather(gathering *g, const weights_values *v, furrow_error *err) {
  g->classes = furrow_scorer_class_count(g->scorer);
  g->bias = calloc(g->classes, sizeof *g->bias);
  g->weights = calloc(g->classes, sizeof *g->weights);
  g->lists = calloc(g->classes, sizeof *g->lists);
  if (!g->bias || !g->weights || !g->lists) return fail_memory(err);
  furrow_status status = furrow_scorer_bias(g->scorer, g->bias, err);
  if (status == FURROW_OK)
    status = furrow_scorer_features(g->scorer, 0, UINT64_MAX, &g->features, &g->feature_count, err);
  if (status != FURROW_OK) return status;
  return v->features ? gather_named(g, v->features, err)
                     : gather_largest(g, v->top == UINT64_MAX ? DEFAULT_TOP : v->top, err);
}

static void gathering_clear(gathering *g) {
  for (size_t c = 0; g->lists && c < g->classes; c++) free(g->lists[c].items);
  free(g->lists);
  free(g->bias);
  free(g->weights);
  furrow_free(g->features);
}

/* ---- Printing ---- */

static void put_row(table *t, const gathering *g, size_t class, const char *name, double weight, const double *norm) {
  char label[CLASS_LABEL_SIZE];
  if (g->classes > 1) table_cell(t, "%s", class_label(label, g->scorer, furrow_scorer_class_label(g->scorer, class)));
  table_cell(t, "%s", name);
  table_cell(t, "%.6g", weight);
  if (g->norms && norm) table_cell(t, "%.6g", *norm);
  if (g->norms && !norm) table_cell(t, "-");
}

static furrow_status print_table(const gathering *g, output *out, furrow_error *err) {
  char headings[64];
  table t;
  snprintf(headings, sizeof headings, "%sfeature|weight%s", g->classes > 1 ? "class|" : "", g->norms ? "|norm" : "");
  table_start(&t, headings);
  for (size_t c = 0; c < g->classes; c++) {
    put_row(&t, g, c, "(bias)", g->bias[c], NULL);
    for (size_t i = 0; i < g->lists[c].count; i++) {
      const weighted *item = &g->lists[c].items[i];
      char name[FEATURE_NAME];
      put_row(&t, g, c, feature_name(g->scorer, item->feature, name), item->weight, &item->norm);
    }
  }
  return table_finish(&t, 0, out, err);
}

static void report_class(report *r, const gathering *g, size_t class) {
  report_f64(r, "bias", g->bias[class]);
  report_list(r, "weights");
  for (size_t i = 0; i < g->lists[class].count; i++) {
    const weighted *item = &g->lists[class].items[i];
    report_section(r, NULL);
    report_u64(r, "feature", item->feature);
    report_f64(r, "weight", item->weight);
    if (g->norms) report_f64(r, "norm", item->norm);
    report_end(r);
  }
  report_end(r);
}

static void report_weights(const gathering *g, output *out) {
  report r;
  report_start(&r, out, true);
  report_u64(&r, "features", g->feature_count);
  if (g->classes == 1) report_class(&r, g, 0);
  if (g->classes > 1) report_list(&r, "classes");
  for (size_t c = 0; g->classes > 1 && c < g->classes; c++) {
    report_section(&r, NULL);
    report_f64(&r, "class", furrow_scorer_class_label(g->scorer, c));
    report_class(&r, g, c);
    report_end(&r);
  }
  if (g->classes > 1) report_end(&r);
  report_finish(&r);
}

static furrow_status explain_failure(const weights_values *v, const furrow_scorer *scorer, furrow_status status,
                                     furrow_error *err) {
  furrow_forest_info forest;
  if (status != FURROW_E_UNSUPPORTED) return status;
  furrow_forest_info_init(&forest);
  furrow_scorer_get_forest_info(scorer, &forest);
  snprintf(err->file, sizeof err->file, "%s", v->scoring.model);
  return forest.trees > 0 ? add_hint(err, "furrow model importance lists the features that its trees split on")
                          : add_hint(err, "furrow model dump prints the elements of any matrix");
}

static furrow_status weights_run(const void *values, output *out, furrow_error *err) {
  const weights_values *v = values;
  furrow_scorer *scorer = NULL;
  if (v->features && v->top != UINT64_MAX)
    return fail(err, FURROW_E_ARGUMENT, "--feature and --top cannot be used together");
  furrow_status status = scoring_load(&scorer, &v->scoring, err);
  gathering g = {.scorer = scorer};
  if (status == FURROW_OK) status = explain_failure(v, scorer, gather(&g, v, err), err);
  if (status == FURROW_OK && v->json) report_weights(&g, out);
  if (status == FURROW_OK && !v->json) status = print_table(&g, out, err);
  gathering_clear(&g);
  furrow_scorer_free(scorer);
  return status;
}

const command model_weights_command = {
    .name = "weights",
    .summary = "list the largest weights of a linear model, or of the linear part of another",
    .example = "furrow model weights clicks\nfurrow model weights clicks --top 100 --json\n"
               "furrow model weights clicks --feature 12,4711",
    .about =
        "Lists the bias and the features with the largest weights by absolute value: all of lr, svm, linear, robust "
        "and softmax (for each class), the linear part of fm, wide_and_deep, deepfm, pnn and nfm, with the norm "
        "(length) of each feature's vector. Weights of 0 are left out. Features are columns of the model, counted "
        "from 0. For gbdt see furrow model importance.",
    .operands = weights_operands,
    .groups = weights_groups,
    .size = sizeof(weights_values),
    .init = weights_init,
    .run = weights_run,
};
