/* cli/learn/explaining.c: prints the contributions of features to the score of a row. */
#include "learn/explaining.h"

#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/report.h"
#include "learn/model_names.h"

typedef struct contribution {
  uint64_t feature;
  double value;
} contribution;

/* The largest first, of equal ones the lower feature. */
static int compare_contributions(const void *a, const void *b) {
  const contribution *x = a, *y = b;
  if (fabs(x->value) != fabs(y->value)) return fabs(x->value) < fabs(y->value) ? 1 : -1;
  return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Fills e->list with the contributions to a class; *rest is the sum of those that are not printed. */
static size_t sort_class(const explaining *e, const furrow_contributions *of, size_t class, double *rest) {
  size_t count = 0;
  for (size_t i = 0; i < of->count; i++) {
    const double value = of->values[i * of->classes + class];
    if (value != 0) e->list[count++] = (contribution){of->features[i], value};
  }
  if (count > 1) qsort(e->list, count, sizeof *e->list, compare_contributions);
  *rest = 0;
  while (e->top > 0 && count > e->top) *rest += e->list[--count].value;
  return count;
}

static const char *label_of(const explaining *e, size_t class, char text[CLASS_LABEL_SIZE]) {
  const furrow_scorer *scorer = e->scoring->scorer;
  return class_label(text, scorer, furrow_scorer_class_label(scorer, class));
}

static void put_class(const explaining *e, size_t class, output *out) {
  char text[CLASS_LABEL_SIZE];
  const char *label = label_of(e, class, text);
  output_text(out, ",");
  output_class_begin(out, label);
  output_class_end(out, label);
}

/* A number, or a name in quotes. */
static void put_json_class(const explaining *e, size_t class, output *out) {
  char text[CLASS_LABEL_SIZE];
  const char *label = label_of(e, class, text);
  if (label == text)
    output_text(out, label);
  else
    output_json_text(out, label);
}

static void put_line_start(const explaining *e, const furrow_contributions *of, size_t class, const char *sid,
                           output *out) {
  output_text(out, sid);
  if (of->classes > 1) put_class(e, class, out);
  output_text(out, ",");
  output_decimals(out, of->outputs[class]);
  output_text(out, ",");
  output_decimals(out, of->bias[class]);
}

static void put_line(const explaining *e, const furrow_contributions *of, size_t class, const char *sid, output *out) {
  double rest = 0;
  const size_t count = sort_class(e, of, class, &rest);
  put_line_start(e, of, class, sid, out);
  for (size_t i = 0; i < count; i++) {
    char name[FEATURE_NAME];
    output_text(out, ",");
    output_data(out, feature_name(e->scoring->scorer, e->list[i].feature, name));
    output_format(out, ":%.6g", e->list[i].value);
  }
  output_text(out, "\n");
}

static void put_json_feature(const explaining *e, size_t i, output *out) {
  char name[FEATURE_NAME];
  if (i > 0) output_text(out, ",");
  output_json_text(out, feature_name(e->scoring->scorer, e->list[i].feature, name));
  output_format(out, ":%.9g", e->list[i].value);
}

/* All columns, in their order. */
static void put_json_columns(const explaining *e, const furrow_contributions *of, size_t class, output *out) {
  for (size_t i = 0; i < of->count; i++) {
    if (i > 0) output_text(out, ",");
    output_json_text(out, furrow_scorer_column_name(e->scoring->scorer, i));
    output_format(out, ":%.9g", of->values[i * of->classes + class]);
  }
}

/* "pred":…,"bias":…,"contributions":{…}; with --top also what the others add up to. */
static void put_members(const explaining *e, const furrow_contributions *of, size_t class, output *out) {
  double rest = 0;
  const size_t count = e->by_column ? 0 : sort_class(e, of, class, &rest);
  output_format(out, "\"pred\":%.9g,\"bias\":%.9g,\"contributions\":{", of->outputs[class], of->bias[class]);
  for (size_t i = 0; i < count; i++) put_json_feature(e, i, out);
  if (e->by_column) put_json_columns(e, of, class, out);
  output_text(out, "}");
  if (e->top > 0) output_format(out, ",\"rest\":%.9g", rest);
}

static void put_object(const explaining *e, const furrow_contributions *of, const char *sid, output *out) {
  output_format(out, "{\"sid\":\"%s\",", sid);
  if (of->classes == 1) {
    put_members(e, of, 0, out);
  } else {
    output_text(out, "\"classes\":[");
    for (size_t c = 0; c < of->classes; c++) {
      output_text(out, c > 0 ? ",{\"class\":" : "{\"class\":");
      put_json_class(e, c, out);
      output_text(out, ",");
      put_members(e, of, c, out);
      output_text(out, "}");
    }
    output_text(out, "]");
  }
  output_text(out, "}\n");
}

/* ---- By column ---- */

static void put_column_line(const explaining *e, const furrow_contributions *of, size_t class, const char *sid,
                            output *out) {
  put_line_start(e, of, class, sid, out);
  for (size_t i = 0; i < of->count; i++) output_format(out, ",%.6g", of->values[i * of->classes + class]);
  output_text(out, "\n");
}

furrow_status explain_heading(const explaining *e, output *out, furrow_error *err) {
  const furrow_scorer *scorer = e->scoring->scorer;
  const size_t columns = furrow_scorer_column_count(scorer);
  if (!e->by_column || e->json || columns == 0) return FURROW_OK; /* a model without columns is refused with its row */
  output_text(out, furrow_scorer_class_count(scorer) > 1 ? "sid,label,pred,bias" : "sid,pred,bias");
  for (size_t i = 0; i < columns; i++) {
    const char *name = furrow_scorer_column_name(scorer, i);
    output_text(out, ",");
    output_class_begin(out, name);
    output_class_end(out, name);
  }
  output_text(out, "\n");
  return output_flush(out, err);
}

/* ---- Rows ---- */

static furrow_status contributions_of(const explaining *e, const furrow_row *row, furrow_contributions *of,
                                      furrow_error *err) {
  const scoring *s = e->scoring;
  furrow_forest_info forest;
  furrow_contributions_init(of);
  const furrow_status status = (e->by_column ? furrow_scorer_column_contributions
                                             : furrow_scorer_contributions)(s->scorer, s->space, row, of, err);
  if (status != FURROW_E_UNSUPPORTED) return status;
  snprintf(err->file, sizeof err->file, "%s", s->values->model);
  furrow_forest_info_init(&forest);
  furrow_scorer_get_forest_info(s->scorer, &forest);
  if (e->by_column && furrow_scorer_column_count(s->scorer) == 0) return status;
  return forest.trees > 0 ? add_hint(err, "train the model with --node-stats yes, which stores them") : status;
}

furrow_status explain_row(explaining *e, const furrow_row *row, const char *sid, output *out, furrow_error *err) {
  furrow_contributions of;
  const furrow_status status = contributions_of(e, row, &of, err);
  if (status != FURROW_OK) return status;
  if (of.count > e->capacity) {
    contribution *list = realloc(e->list, of.count * sizeof *list);
    if (!list) return fail_memory(err);
    e->list = list;
    e->capacity = of.count;
  }
  if (e->json)
    put_object(e, &of, sid, out);
  else
    for (size_t c = 0; c < of.classes; c++) (e->by_column ? put_column_line : put_line)(e, &of, c, sid, out);
  return FURROW_OK;
}

void explaining_clear(explaining *e) {
  free(e->list);
  *e = (explaining){0};
}
