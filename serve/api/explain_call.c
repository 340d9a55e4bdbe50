/* serve/api/explain_call.c: POST /v1/models/NAME:explain: the contributions of features to the scores of rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/instances.h"
#include "api/problem.h"
#include "http/json_put.h"
#include "learn/model_names.h"

/* A feature of a row and its largest contribution to a class. */
typedef struct part {
  size_t place; /* position among the features of the row */
  double size;
} part;

/* Sorts by falling contribution; ties by ascending feature. */
static int compare_parts(const void *a, const void *b) {
  const part *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return (x->place > y->place) - (x->place < y->place);
}

static part *sort_parts(call *c, const furrow_contributions *of) {
  fw_buffer *space = &c->memory->results;
  buffer_recycle(space, (size_t)1 << 20);
  part *parts = (part *)(void *)fw_buffer_reserve(space, of->count * sizeof *parts + 1);
  if (!parts) return NULL;
  for (size_t i = 0; i < of->count; i++) {
    parts[i] = (part){.place = i};
    for (size_t k = 0; k < of->classes; k++) parts[i].size = fmax(parts[i].size, fabs(of->values[i * of->classes + k]));
  }
  if (of->count > 1) qsort(parts, of->count, sizeof *parts, compare_parts);
  return parts;
}

/* Writes one number, or an array with the number of each class. */
static void write_classes(fw_buffer *body, const double *numbers, size_t classes) {
  if (classes > 1) fw_buffer_text(body, "[");
  for (size_t i = 0; i < classes; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    json_put_f64(body, numbers[i]);
  }
  if (classes > 1) fw_buffer_text(body, "]");
}

/* Features without names are counted as in the lines of the model's data. */
static void write_feature(fw_buffer *body, const model_version *version, uint64_t feature) {
  const uint64_t index = feature + version->index_base;
  const bool is_named = version->encoder || furrow_scorer_feature_name(version->scorer, feature);
  char space[FEATURE_NAME];
  const char *name = feature_name(version->scorer, is_named ? feature : index, space);
  fw_buffer_text(body, "{\"feature\":");
  json_put_text(body, name, strlen(name));
  fw_buffer_text(body, ",\"index\":");
  json_put_u64(body, index);
}

static void write_column(fw_buffer *body, const model_version *version, size_t column) {
  const char *name = furrow_scorer_column_name(version->scorer, column);
  fw_buffer_text(body, "{\"column\":");
  json_put_text(body, name, strlen(name));
}

static void write_part(fw_buffer *body, const model_version *version, const furrow_contributions *of, bool by_column,
                       size_t place) {
  if (by_column)
    write_column(body, version, place);
  else
    write_feature(body, version, of->features[place]);
  fw_buffer_text(body, ",\"value\":");
  write_classes(body, of->values + place * of->classes, of->classes);
  fw_buffer_text(body, "}");
}

static void write_row(fw_buffer *body, const model_version *version, const furrow_contributions *of, const part *parts,
                      const instances *read) {
  const size_t count = read->top > 0 && read->top < of->count ? read->top : of->count;
  fw_buffer_text(body, "{\"score\":");
  write_classes(body, of->outputs, of->classes);
  fw_buffer_text(body, ",\"bias\":");
  write_classes(body, of->bias, of->classes);
  fw_buffer_text(body, ",\"contributions\":[");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    write_part(body, version, of, read->by_column, parts[i].place);
  }
  fw_buffer_text(body, "]}");
}

/* Returns false: the answer is a problem. */
static bool explain_row(call *c, const model_version *version, furrow_scorer_scratch *scratch, const instances *read,
                        size_t i) {
  const furrow_row row = furrow_rowblock_row(&read->rows, i);
  furrow_contributions of;
  furrow_error err;
  furrow_contributions_init(&of);
  const furrow_status status = (read->by_column ? furrow_scorer_column_contributions : furrow_scorer_contributions)(
      version->scorer, scratch, &row, &of, &err);
  if (status != FURROW_OK) {
    instances_refuse(c, read, i, status, &err);
    return false;
  }
  const part *parts = sort_parts(c, &of);
  if (!parts) {
    problem_set(c->answer, 503, "there is not enough memory");
    return false;
  }
  write_row(&c->answer->body, version, &of, parts, read);
  return true;
}

static void answer_rows(call *c, const model_version *version, furrow_scorer_scratch *scratch, const instances *read) {
  fw_buffer *body = &c->answer->body;
  fw_buffer_text(body, "{\"explanations\":[");
  for (size_t i = 0; i < read->rows.size; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    if (!explain_row(c, version, scratch, read, i)) return;
  }
  fw_buffer_text(body, "]");
  instances_write_warnings(version, read, body);
  fw_buffer_text(body, "}\n");
  c->answer->type = "application/json";
}

void explain_handler(call *c) {
  model_version *version = instances_version(c);
  instances read;
  if (!version) return;
  furrow_scorer_scratch *scratch = model_version_scratch(version, c->memory->thread);
  if (!scratch)
    problem_set(c->answer, 503, "there is not enough memory");
  else if (instances_read(c, version, TAKES_TOP_AND_BY, &read))
    answer_rows(c, version, scratch, &read);
  instances_release(c, version);
  shared_release(&version->shared);
}
