/* learn/ranking/negatives.c: items that a user does not have. */
#include "learn/ranking/ranking_data.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "learn/net/net_solver.h"

enum { TRIES = 64 };

/* ---- Drawing ---- */

furrow_status fw_item_sampler_init(fw_item_sampler *sampler, const uint32_t *popularity, size_t items, bool popular,
                                   furrow_error *err) {
  *sampler = (fw_item_sampler){.items = items};
  if (!popular) return FURROW_OK;
  FW_TRY(FW_ALLOC(&sampler->ends, items, err));
  double sum = 0;
  for (size_t i = 0; i < items; i++) sampler->ends[i] = sum += pow(popularity[i], 0.75);
  for (size_t i = 0; i < items; i++) sampler->ends[i] /= sum;
  return FURROW_OK;
}

void fw_item_sampler_clear(fw_item_sampler *sampler) {
  fw_free(sampler->ends);
  *sampler = (fw_item_sampler){0};
}

/* Finds the first item whose cumulative share is above a uniform random number: items without rows have no share. */
uint32_t fw_item_sampler_draw(const fw_item_sampler *sampler, fw_rng *rng) {
  if (!sampler->ends) return (uint32_t)fw_rng_below(rng, sampler->items);
  const double number = nextafter(fw_rng_double(rng), 2);
  const size_t found = fw_lower_bound_f64(sampler->ends, sampler->items, sizeof *sampler->ends, number);
  return (uint32_t)(found < sampler->items ? found : sampler->items - 1);
}

uint32_t fw_item_sampler_draw_other(const fw_item_sampler *sampler, fw_rng *rng, const fw_ranking_data *data,
                                    uint32_t user) {
  for (int i = 0; i < TRIES; i++) {
    const uint32_t item = fw_item_sampler_draw(sampler, rng);
    if (!fw_ranking_data_has(data, user, item)) return item;
  }
  return FW_NO_NUMBER;
}

float fw_item_sampler_chance(const fw_item_sampler *sampler, uint32_t item, size_t count) {
  if (!sampler->ends) return (float)log((double)count / (double)sampler->items);
  const double share = sampler->ends[item] - (item > 0 ? sampler->ends[item - 1] : 0);
  return (float)log(-expm1((double)count * log1p(-fmin(share, 0.999999))));
}

/* ---- Rows ---- */

/* A row in memory of its own. */
typedef struct new_row {
  uint64_t *field, *index;
  float *value;
  size_t length;
} new_row;

static void push_side(new_row *to, const fw_ranking_conf *conf, const furrow_row *from, bool of_item) {
  for (size_t i = 0; i < from->length; i++) {
    const uint64_t field = furrow_row_get_field(from, i);
    if (fw_ranking_is_item_field(conf, field) != of_item) continue;
    to->field[to->length] = field;
    to->index[to->length] = furrow_row_get_index(from, i);
    to->value[to->length++] = (float)furrow_row_get_value(from, i);
  }
}

/* A positive, by its hour. */
typedef struct hour_item {
  uint64_t hour;
  uint32_t item;
} hour_item;

typedef struct appending {
  const furrow_rowblock *rows;
  const fw_ranking_conf *conf;
  fw_ranking_data data;
  fw_item_sampler sampler;
  hour_item *of_hours; /* positives in the order of their hours; NULL: negatives are of any hour */
  size_t *row_of;      /* first row of each item */
  uint32_t *positive;  /* rows that are positives */
  size_t positives;
  fw_arena memory, scratch; /* of the arrays above; of a row */
  furrow_container *made;
  uint64_t seed, without;
} appending;

/* Lists the positives. Other rows are negatives already, unless the key positive-from says what they are. */
static furrow_status list_positives(appending *a, furrow_error *err) {
  FW_TRY(FW_ARENA_TAKE(&a->memory, &a->positive, a->rows->size, err));
  for (size_t i = 0; i < a->rows->size; i++) {
    const furrow_row row = furrow_rowblock_row(a->rows, i);
    if (fw_ranking_is_positive(a->conf, furrow_row_get_label(&row))) {
      a->positive[a->positives++] = (uint32_t)i;
    } else if (!a->conf->has_positive_from) {
      fw_fail(err, FURROW_E_ARGUMENT, "a label of %g: negatives are drawn for rows that are all positives",
              furrow_row_get_label(&row));
      fw_error_prefix_row(err, i + 1);
      fw_error_set_hint(err, "leave the key `negatives` out, as the rows have negatives, or set `positive-from`: other "
                             "rows are then left out");
      return FURROW_E_ARGUMENT;
    }
  }
  return FURROW_OK;
}

/* The feature of the hour field. */
static furrow_status hour_of(const appending *a, size_t row_number, uint64_t *hour, furrow_error *err) {
  const furrow_row row = furrow_rowblock_row(a->rows, row_number);
  for (size_t i = 0; i < row.length; i++) {
    if (furrow_row_get_field(&row, i) != (uint64_t)a->conf->hour_field) continue;
    *hour = furrow_row_get_index(&row, i);
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "the row has no feature of the hour field, which negative-sampling=hour needs");
  fw_error_prefix_row(err, row_number + 1);
  return FURROW_E_ARGUMENT;
}

static int compare_hours(const void *a, const void *b) {
  const hour_item *x = a, *y = b;
  if (x->hour != y->hour) return x->hour < y->hour ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static furrow_status list_hours(appending *a, furrow_error *err) {
  if (a->conf->hour_field < 0) {
    fw_fail(err, FURROW_E_ARGUMENT, "negative-sampling=hour needs to know which field has the hours");
    fw_error_set_hint(err, "set the key `hour-field`, or give the time of the schema the part hour");
    return FURROW_E_ARGUMENT;
  }
  FW_TRY(FW_ARENA_TAKE(&a->memory, &a->of_hours, a->positives, err));
  for (size_t i = 0; i < a->positives; i++) {
    a->of_hours[i].item = a->data.train.item[i];
    FW_TRY(hour_of(a, a->positive[i], &a->of_hours[i].hour, err));
  }
  qsort(a->of_hours, a->positives, sizeof *a->of_hours, compare_hours);
  return FURROW_OK;
}

/* An item of the same hour that the user does not have; FW_NO_NUMBER: none was found. */
static furrow_status draw_of_hour(const appending *a, fw_rng *rng, size_t positive, uint32_t *item, furrow_error *err) {
  uint64_t hour = 0;
  *item = FW_NO_NUMBER;
  FW_TRY(hour_of(a, a->positive[positive], &hour, err));
  const size_t begin = fw_lower_bound_u64(&a->of_hours[0].hour, a->positives, sizeof *a->of_hours, hour);
  const size_t end = fw_lower_bound_u64(&a->of_hours[0].hour, a->positives, sizeof *a->of_hours, hour + 1);
  for (int i = 0; i < TRIES && *item == FW_NO_NUMBER; i++) {
    const uint32_t drawn = a->of_hours[begin + fw_rng_below(rng, end - begin)].item;
    if (!fw_ranking_data_has(&a->data, a->data.train.user[positive], drawn)) *item = drawn;
  }
  return FURROW_OK;
}

static furrow_status take_apart(appending *a, furrow_error *err) {
  if (a->rows->size >= FW_NO_NUMBER) return fw_fail(err, FURROW_E_RANGE, "negatives: more than 4294967294 rows");
  FW_TRY(list_positives(a, err));
  FW_TRY(fw_ranking_data_init(&a->data, a->conf, err));
  FW_TRY(fw_ranking_data_add(&a->data, &a->data.train, a->rows, a->positive, a->positives, true, err));
  FW_TRY(fw_ranking_data_finish(&a->data, err));
  const fw_ranking_data *data = &a->data;
  FW_TRY(FW_ARENA_TAKE(&a->memory, &a->row_of, data->items.count, err));
  for (size_t i = data->train.count; i-- > 0;) a->row_of[data->train.item[i]] = a->positive[i];
  if (a->conf->same_hour) FW_TRY(list_hours(a, err));
  return fw_item_sampler_init(&a->sampler, data->popularity, data->items.count, a->conf->popular, err);
}

static furrow_status push_row(appending *a, const furrow_row *user, const furrow_row *item, float label,
                              furrow_error *err) {
  const float weight = furrow_row_get_weight(user);
  const size_t most = user->length + item->length;
  new_row made = {0};
  fw_arena_reset(&a->scratch);
  FW_TRY(FW_ARENA_TAKE(&a->scratch, &made.field, most, err));
  FW_TRY(FW_ARENA_TAKE(&a->scratch, &made.index, most, err));
  FW_TRY(FW_ARENA_TAKE(&a->scratch, &made.value, most, err));
  push_side(&made, a->conf, user, false);
  push_side(&made, a->conf, item, true);
  const furrow_row row = {.label = {.f32 = &label},
                          .weight = a->rows->weight ? &weight : NULL,
                          .length = made.length,
                          .field = {.u64 = made.field},
                          .index = {.u64 = made.index},
                          .value = {.f32 = made.value},
                          .key_type = FURROW_KEY_U64,
                          .value_type = FURROW_VALUE_F32};
  return furrow_container_push_row(a->made, &row, err);
}

static furrow_status push_rows(appending *a, furrow_error *err) {
  for (size_t i = 0; i < a->positives; i++) {
    const furrow_row user = furrow_rowblock_row(a->rows, a->positive[i]);
    fw_rng rng;
    fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(a->seed, 0x6e656772), a->positive[i]));
    FW_TRY(push_row(a, &user, &user, 1, err));
    for (uint32_t k = 0; k < a->conf->negatives; k++) {
      uint32_t item = FW_NO_NUMBER;
      if (a->of_hours)
        FW_TRY(draw_of_hour(a, &rng, i, &item, err));
      else
        item = fw_item_sampler_draw_other(&a->sampler, &rng, &a->data, a->data.train.user[i]);
      if (item == FW_NO_NUMBER) {
        a->without++;
        continue;
      }
      const furrow_row other = furrow_rowblock_row(a->rows, a->row_of[item]);
      FW_TRY(push_row(a, &user, &other, 0, err));
    }
  }
  return FURROW_OK;
}

furrow_status fw_negatives_append(furrow_container **made, const furrow_rowblock *rows, const fw_ranking_conf *conf,
                                  uint64_t seed, uint64_t *without, furrow_error *err) {
  appending a = {.rows = rows, .conf = conf, .seed = seed};
  furrow_status status = take_apart(&a, err);
  if (status == FURROW_OK) status = furrow_container_create(&a.made, rows->key_type, rows->value_type, err);
  if (status == FURROW_OK) status = push_rows(&a, err);
  if (status == FURROW_OK) {
    *made = a.made;
    *without = a.without;
  } else {
    furrow_container_free(a.made);
  }
  fw_ranking_data_clear(&a.data);
  fw_item_sampler_clear(&a.sampler);
  fw_arena_clear(&a.memory);
  fw_arena_clear(&a.scratch);
  return status;
}
