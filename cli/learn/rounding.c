/* cli/learn/rounding.c: what the decimals that Angel writes do to the scores of a model. */
#include "learn/rounding.h"

#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/interrupt.h"

/* One of the two models. */
typedef struct side {
  furrow_scorer *scorer;
  furrow_scorer_scratch *space;
  furrow_score *scores;
} side;

static void close_side(side *s) {
  free(s->scores);
  furrow_scorer_scratch_free(s->space);
  furrow_scorer_free(s->scorer);
}

static furrow_status score(side *s, const furrow_rowblock *block, furrow_error *err) {
  furrow_score *scores = realloc(s->scores, (block->size + 1) * sizeof *scores);
  if (!scores) return fail(err, FURROW_E_MEMORY, "out of memory");
  s->scores = scores;
  return furrow_scorer_score_block(s->scorer, s->space, block, scores, err);
}

static furrow_status compare(rounding *lost, side sides[2], const furrow_rowblock *block, furrow_error *err) {
  furrow_status status = score(&sides[0], block, err);
  if (status == FURROW_OK) status = score(&sides[1], block, err);
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
    const double difference = fabs(sides[0].scores[i].pred - sides[1].scores[i].pred);
    lost->largest = fmax(lost->largest, difference);
    lost->sum += difference;
    lost->labels += sides[0].scores[i].label != sides[1].scores[i].label;
  }
  lost->rows += block->size;
  return status;
}

furrow_status rounding_measure(rounding *lost, const furrow_trainer *trainer, const char *model, const char *rows,
                               const char *format, furrow_error *err) {
  side sides[2] = {{0}};
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.on_bad = FURROW_ON_BAD_SKIP;
  if (format) params.format = format;
  furrow_status status = furrow_scorer_create(&sides[0].scorer, trainer, err);
  furrow_scorer_params angel;
  furrow_scorer_params_init(&angel);
  angel.absent_is_zero = true;
  if (status == FURROW_OK) status = furrow_scorer_load(&sides[1].scorer, model, &angel, err);
  for (int i = 0; status == FURROW_OK && i < 2; i++)
    status = furrow_scorer_scratch_create(&sides[i].space, sides[i].scorer, err);
  if (status == FURROW_OK)
    status = furrow_sample_reader_open(&samples, furrow_scorer_conf(sides[0].scorer), rows, &params, err);
  while (status == FURROW_OK && (status = furrow_sample_reader_next(samples, &block, err)) == FURROW_OK) {
    status = compare(lost, sides, block, err);
    if (status == FURROW_OK) status = interrupt_check(err);
  }
  furrow_sample_reader_close(samples);
  for (int i = 0; i < 2; i++) close_side(&sides[i]);
  return status == FURROW_END ? FURROW_OK : status;
}

void rounding_report(const rounding *lost, report *r) {
  report_u64(r, "rows compared", lost->rows);
  report_f64(r, "mean change", lost->sum / (double)lost->rows);
  report_f64(r, "largest change", lost->largest);
  report_u64(r, "labels changed", lost->labels);
}
