/* learn/ranking/ranking_data.h: rows of users and items, taken apart: who had what, and the features of both sides.
 *
 * A row is one event: the features of its item (those in fields of the item) and the rest, the user's side: the user,
 * his history, the time. Items are told apart by the feature in the first of the item's fields, users by the features
 * in the first of the user's. An item has the features of its first row. */
#ifndef FW_LEARN_RANKING_RANKING_DATA_H
#define FW_LEARN_RANKING_RANKING_DATA_H

#include "base/rng.h"
#include "furrow/rows.h"
#include "learn/conf/conf.h"
#include "learn/data/features.h"
#include "learn/data/samples.h"

#define FW_NO_NUMBER UINT32_MAX

/* Features with their values, row by row. */
typedef struct fw_ranking_uses {
  size_t *offset; /* count + 1 */
  uint32_t *feature;
  float *value;
  size_t count, offset_capacity, feature_capacity, value_capacity;
} fw_ranking_uses;

/* Events: positives alone. */
typedef struct fw_ranking_events {
  size_t count, user_capacity, item_capacity, weight_capacity;
  uint32_t *user, *item;
  float *weight;
  fw_ranking_uses side; /* the user's */
} fw_ranking_events;

/* Numbers of keys in order of their first appearance. */
typedef struct fw_ranking_numbers {
  fw_features *table;
  uint64_t *key;
  size_t count, capacity;
} fw_ranking_numbers;

typedef struct fw_ranking_data {
  const fw_ranking_conf *conf;
  fw_ranking_numbers features, items, users;
  fw_ranking_uses item_uses; /* features of each item */
  fw_ranking_events train, valid;
  uint64_t other_rows;    /* rows of training that are not positives */
  uint64_t unknown_items; /* rows for validation whose item training does not have */
  uint32_t *popularity;   /* training rows of each item */
  size_t *seen_offset;    /* users + 1 */
  uint32_t *seen;         /* items of each user in training rows, ascending */
  bool shared;            /* two items have a feature in common, or one has it twice */
} fw_ranking_data;

/* The caller's struct, to be cleared after a failure, too. The conf must outlive it. */
furrow_status fw_ranking_data_init(fw_ranking_data *data, const fw_ranking_conf *conf,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_ranking_data_clear(fw_ranking_data *data);
/* Adds rows of a block to data->train or data->valid: those that `use` lists, or all (NULL). Without `grow`, features,
 * items and users that are not known yet are left out. E_RANGE: a row without an item, or with two; the message has its
 * number. E_ARGUMENT: rows without fields. */
furrow_status fw_ranking_data_add(fw_ranking_data *data, fw_ranking_events *to, const furrow_rowblock *rows,
                                  const uint32_t *use, size_t count, bool grow, furrow_error *err) FURROW_MUST_USE;
/* After the last row: who has what. E_ARGUMENT: no positives, or a single item. */
furrow_status fw_ranking_data_finish(fw_ranking_data *data, furrow_error *err) FURROW_MUST_USE;

/* Whether the user had the item in a training row. */
bool fw_ranking_data_has(const fw_ranking_data *data, uint32_t user, uint32_t item);
/* Whether a label is a positive. */
bool fw_ranking_is_positive(const fw_ranking_conf *conf, double label);
/* Whether a feature of this field belongs to the item. */
bool fw_ranking_is_item_field(const fw_ranking_conf *conf, uint64_t field);

/* Which positives are for validation. */
typedef struct fw_ranking_share {
  double ratio; /* share of each user's positives that is held out */
  bool last;    /* the last ones, as rows are in the order of time; else drawn by the seed */
  uint64_t seed;
} fw_ranking_share;

/* Holds out a share of each user's positives; of a user with few rows that may be none. Fold 0 has them. To be cleared
 * after a failure, too. */
furrow_status fw_ranking_hold_out(fw_holdout *holdout, const furrow_rowblock *rows, const fw_ranking_conf *conf,
                                  const fw_ranking_share *share, furrow_error *err) FURROW_MUST_USE;

/* ---- Negatives (negatives.c) ----
 *
 * model of two classes. */

typedef struct fw_item_sampler {
  size_t items;
  double *ends; /* by popularity: sums of the items' shares, the last one 1; NULL: all alike */
} fw_item_sampler;

/* The caller's struct, to be cleared after a failure, too. popularity: training rows of each item, which count with the
 * power 3/4, so that rare items are drawn, too. */
furrow_status fw_item_sampler_init(fw_item_sampler *sampler, const uint32_t *popularity, size_t items, bool popular,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_item_sampler_clear(fw_item_sampler *sampler);
uint32_t fw_item_sampler_draw(const fw_item_sampler *sampler, fw_rng *rng);
/* One that the user does not have; FW_NO_NUMBER: none was found in 64 draws. */
uint32_t fw_item_sampler_draw_other(const fw_item_sampler *sampler, fw_rng *rng, const fw_ranking_data *data,
                                    uint32_t user);
/* The logarithm of the chance that an item is among `count` different ones that are drawn. */
float fw_item_sampler_chance(const fw_item_sampler *sampler, uint32_t item, size_t count);

/* Makes a block of the positives, with label 1, each followed by conf->negatives rows with label 0 that have the
 * features of another item in place of its own. *without: rows for which no such item was found. To be freed with
 * furrow_container_free. E_ARGUMENT: rows that are negatives already. Memory: (1 + negatives) times the rows. */
furrow_status fw_negatives_append(furrow_container **made, const furrow_rowblock *rows, const fw_ranking_conf *conf,
                                  uint64_t seed, uint64_t *without, furrow_error *err) FURROW_MUST_USE;

#endif
