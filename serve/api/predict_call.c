/* serve/api/predict_call.c: POST /v1/models/NAME:predict: scores of rows. */
#include <math.h>

#include "api/instances.h"
#include "api/problem.h"
#include "core/fail.h"
#include "http/json_put.h"

/* What the answer is built from. */
typedef struct predicting {
  model_version *version;
  const furrow_scorer *scorer;
  furrow_scorer_scratch *scratch;
  const instances *read;
  const furrow_score *scores;
  size_t classes;        /* number of classes of softmax; 1: two classes, or regression */
  bool numbers;          /* regression or ranking */
  double *probabilities; /* probabilities of a row of softmax */
} predicting;

/* Scores all rows; on failure *row is the one that cannot be scored. */
static furrow_status score_rows(const predicting *p, furrow_score *scores, size_t *row, furrow_error *err) {
  const furrow_rowblock *rows = &p->read->rows;
  *row = 0;
  const furrow_status all = furrow_scorer_score_block(p->scorer, p->scratch, rows, scores, err);
  if (all != FURROW_OK) {
    for (; *row < rows->size; ++*row) {
      const furrow_row one = furrow_rowblock_row(rows, *row);
      const furrow_status status = furrow_scorer_score_row(p->scorer, p->scratch, &one, scores, err);
      if (status != FURROW_OK) return status;
    }
    return all;
  }
  for (; *row < rows->size; ++*row) {
    const furrow_score *s = &scores[*row];
    if (!isfinite(s->pred) || isnan(s->proba) || isnan(s->label))
      return fail(err, FURROW_E_RANGE, "the score is infinite or not a number");
  }
  return FURROW_OK;
}

/* Measures the time of a row, which decides how many rows are scored on a loop thread. */
static furrow_status score_and_time(const predicting *p, furrow_score *scores, size_t *row, furrow_error *err) {
  if (p->version->row_ns > 0) return score_rows(p, scores, row, err);
  const uint64_t begin = clock_ns();
  const furrow_status status = score_rows(p, scores, row, err);
  if (status == FURROW_OK)
    p->version->row_ns = (clock_ns() - begin) * (p->classes > 1 ? 2 : 1) / p->read->rows.size + 1;
  return status;
}

static furrow_status write_probabilities(const predicting *p, size_t i, fw_buffer *body, furrow_error *err) {
  const furrow_row row = furrow_rowblock_row(&p->read->rows, i);
  const furrow_status status = furrow_scorer_class_probabilities(p->scorer, p->scratch, &row, p->probabilities, err);
  if (status != FURROW_OK) return status;
  for (size_t k = 0; k < p->classes; k++) {
    fw_buffer_text(body, k > 0 ? "," : "[");
    json_put_f64(body, p->probabilities[k]);
  }
  fw_buffer_text(body, "]");
  return FURROW_OK;
}

static void write_label(const predicting *p, double label, fw_buffer *body) {
  const char *name = model_class_of(p->version, label);
  if (name)
    fw_buffer_text(body, name);
  else
    json_put_f64(body, label);
}

static furrow_status write_details(const predicting *p, size_t i, fw_buffer *body, furrow_error *err) {
  const furrow_score *score = &p->scores[i];
  furrow_status status = FURROW_OK;
  fw_buffer_text(body, "{\"score\":");
  json_put_f64(body, score->pred);
  if (!p->numbers) {
    fw_buffer_text(body, ",\"probability\":");
    json_put_f64(body, score->proba);
    fw_buffer_text(body, ",\"label\":");
    write_label(p, score->label, body);
  }
  if (p->classes > 1) {
    fw_buffer_text(body, ",\"probabilities\":");
    status = write_probabilities(p, i, body, err);
  }
  fw_buffer_text(body, "}");
  return status;
}

static furrow_status write_row(const predicting *p, size_t i, fw_buffer *body, furrow_error *err) {
  if (p->read->details) return write_details(p, i, body, err);
  if (p->classes > 1) return write_probabilities(p, i, body, err);
  json_put_f64(body, p->numbers ? p->scores[i].pred : p->scores[i].proba);
  return FURROW_OK;
}

/* Scores, then writes the answer. */
static void answer_rows(call *c, predicting *p) {
  fw_buffer *space = &c->memory->results, *body = &c->answer->body;
  const size_t count = p->read->rows.size;
  furrow_error err;
  size_t row = 0;
  buffer_recycle(space, (size_t)1 << 20);
  char *memory = fw_buffer_reserve(space, count * sizeof(furrow_score) + p->classes * sizeof(double));
  if (!memory) {
    problem_set(c->answer, 503, "there is not enough memory");
    return;
  }
  furrow_score *scores = (furrow_score *)(void *)memory;
  p->scores = scores;
  p->probabilities = (double *)(void *)(scores + count);
  furrow_status status = count > 0 ? score_and_time(p, scores, &row, &err) : FURROW_OK;
  fw_buffer_text(body, "{\"predictions\":[");
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    if (i > 0) fw_buffer_text(body, ",");
    status = write_row(p, row = i, body, &err);
  }
  if (status != FURROW_OK) {
    instances_refuse(c, p->read, row, status, &err);
    return;
  }
  fw_buffer_text(body, "]");
  instances_write_warnings(p->version, p->read, body);
  fw_buffer_text(body, "}\n");
  c->answer->type = "application/json";
}

void predict_handler(call *c) {
  model_version *version = instances_version(c);
  instances read;
  if (!version) return;
  predicting p = {.version = version, .scorer = version->scorer, .read = &read};
  p.scratch = model_version_scratch(version, c->memory->thread);
  p.classes = furrow_scorer_class_count(version->scorer);
  p.numbers = isnan(furrow_scorer_class_label(version->scorer, 0));
  if (!p.scratch)
    problem_set(c->answer, 503, "there is not enough memory");
  else if (instances_read(c, version, TAKES_DETAILS, &read))
    answer_rows(c, &p);
  instances_release(c, version);
  shared_release(&version->shared);
}
