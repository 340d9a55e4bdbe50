/* learn/forest/start_scores.c: what rows have from trees that were there before the first round. */
#include "learn/forest/start_scores.h"

#include "base/mem.h"
#include "learn/forest/forest_predictor.h"

struct fw_start_scores {
  fw_forest_predictor *predictor;
  fw_predict_scratch *space;
  size_t classes;
  uint32_t *columns; /* 0, 1 …, for dense rows */
  size_t column_capacity;
};

furrow_status fw_start_scores_create(fw_start_scores **start, const fw_forest *forest, double rate, furrow_error *err) {
  fw_start_scores *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->classes = forest->classes;
  status = fw_forest_predictor_create(&made->predictor, forest, rate, err);
  if (status == FURROW_OK) status = fw_predict_scratch_create(&made->space, made->predictor, err);
  if (status == FURROW_OK)
    *start = made;
  else
    fw_start_scores_free(made);
  return status;
}

void fw_start_scores_free(fw_start_scores *start) {
  if (!start) return;
  fw_predict_scratch_free(start->space);
  fw_forest_predictor_free(start->predictor);
  fw_free(start->columns);
  fw_free(start);
}

static furrow_status number_columns(fw_start_scores *start, size_t columns, furrow_error *err) {
  const size_t before = start->column_capacity;
  furrow_status status =
      fw_grow((void **)&start->columns, &start->column_capacity, columns, sizeof *start->columns, err);
  for (size_t i = before; status == FURROW_OK && i < start->column_capacity; i++) start->columns[i] = (uint32_t)i;
  return status;
}

static furrow_row row_of(const fw_start_scores *start, const fw_minibatch *batch, size_t i) {
  if (batch->x)
    return (furrow_row){.length = batch->columns,
                        .index = {.u32 = start->columns},
                        .key_type = FURROW_KEY_U32,
                        .value = {.f32 = batch->x + i * batch->columns},
                        .value_type = FURROW_VALUE_F32};
  const size_t begin = batch->offset[i];
  furrow_row row = {.length = batch->offset[i + 1] - begin,
                    .index = {.u64 = batch->key + begin},
                    .key_type = FURROW_KEY_U64,
                    .value_type = FURROW_VALUE_F32};
  if (batch->value) row.value.f32 = batch->value + begin;
  return row;
}

furrow_status fw_start_scores_rows(fw_start_scores *start, const fw_minibatch *batch, double *out, furrow_error *err) {
  furrow_status status = batch->x ? number_columns(start, batch->columns, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < batch->rows; i++) {
    const furrow_row row = row_of(start, batch, i);
    fw_forest_predict_row(start->predictor, start->space, &row, out + i * start->classes);
  }
  return status;
}
