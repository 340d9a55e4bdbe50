/* learn/ranking/negatives.h: items that a user does not have: drawn while a model learns to rank, or as rows for any
 * model of two classes. */
#ifndef FW_LEARN_RANKING_NEGATIVES_H
#define FW_LEARN_RANKING_NEGATIVES_H

#include "base/rng.h"
#include "learn/ranking/ranking_data.h"

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
