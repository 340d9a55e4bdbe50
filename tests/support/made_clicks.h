/* tests/support/made_clicks.h: rows with a truth that a model can find, trainers for them, and all numbers of a net. */
#ifndef MADE_CLICKS_H
#define MADE_CLICKS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "learn/parameters/snapshot.h"
#include "learn/train/trainer.h"
#include "support/cmocka_all.h"
#include "support/learn_conf.h"
#include "support/own_dir.h"

enum { CLICK_FIELDS = 6, CLICK_VALUES = 20 };

/* `rows` rows of CLICK_FIELDS features (feature = field * CLICK_VALUES + value, from 1) whose label is drawn by the
 * logistic function of hidden weights; `sign` -1 turns the labels round. */
static inline bool write_clicks(const char *path, size_t rows, uint64_t seed, int sign) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  fw_rng rng, truth;
  double weight[CLICK_FIELDS * CLICK_VALUES];
  fw_rng_init(&truth, 99);
  for (size_t i = 0; i < CLICK_FIELDS * CLICK_VALUES; i++) weight[i] = 1.5 * fw_rng_normal(&truth);
  fw_rng_init(&rng, seed);
  for (size_t row = 0; row < rows; row++) {
    unsigned feature[CLICK_FIELDS];
    double score = 0;
    for (unsigned f = 0; f < CLICK_FIELDS; f++) {
      feature[f] = f * CLICK_VALUES + (unsigned)fw_rng_below(&rng, CLICK_VALUES);
      score += weight[feature[f]];
    }
    const bool clicked = fw_rng_double(&rng) < 1 / (1 + exp(-score));
    fprintf(file, "%d", clicked ? sign : -sign);
    for (unsigned f = 0; f < CLICK_FIELDS; f++) fprintf(file, " %u:%g", feature[f] + 1, 1 + (double)(row % 3) / 4);
    fputc('\n', file);
  }
  return fclose(file) == 0;
}

static inline furrow_trainer *new_trainer(const char *algorithm, const char *settings, unsigned threads, bool hogwild) {
  furrow_learn_conf *conf = conf_new();
  furrow_trainer_params params;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params_init(&params);
  params.threads = threads;
  params.hogwild = hogwild;
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, algorithm, &err), FURROW_OK);
  conf_set_all(conf, settings);
  if (furrow_trainer_create(&trainer, conf, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_learn_conf_free(conf);
  return trainer;
}

/* The i-th epoch of the last fit. */
static inline const furrow_epoch *epoch_at(const furrow_trainer *trainer, size_t i) {
  const furrow_epoch *epoch = furrow_trainer_get_epoch(trainer, i);
  assert_non_null(epoch);
  return epoch;
}

static inline furrow_status append_to_snapshot(void *to, const void *bytes, size_t size, furrow_error *e) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, e);
}

/* All numbers of the trainer's net, its optimizers' included, or of its forest; clear the buffer. */
static inline fw_buffer snapshot_of(const furrow_trainer *trainer) {
  fw_buffer snapshot = {0};
  const fw_forest *forest = trainer->forest;
  const furrow_status status =
      forest ? fw_forest_snapshot_write(forest, append_to_snapshot, &snapshot, &err)
             : fw_parameters_snapshot_write(trainer->parameters, append_to_snapshot, &snapshot, &err);
  assert_int_equal(status, FURROW_OK);
  return snapshot;
}

static inline void assert_same_snapshot(const fw_buffer *a, const fw_buffer *b) {
  assert_int_equal(a->size, b->size);
  assert_memory_equal(a->bytes, b->bytes, a->size);
}

static inline void fit_or_fail(furrow_trainer *trainer, const char *train, const char *valid,
                               const furrow_trainer_fit_params *params) {
  if (furrow_trainer_fit(trainer, train, valid, params, &err) != FURROW_OK) fail_msg("%s", err.message);
}

#endif
