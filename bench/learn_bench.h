/* bench/learn_bench.h: what the benchmarks of training and scoring share. */
#ifndef LEARN_BENCH_H
#define LEARN_BENCH_H

#include <furrow/furrow.h>

#include "bench_clock.h"

static furrow_error last;

static inline void check(furrow_status status) {
  char text[512];
  if (status == FURROW_OK) return;
  furrow_error_to_text(&last, text, sizeof text);
  fprintf(stderr, "%s\n", text);
  exit(1);
}

/* Settings are KEY=VALUE; they are cut at the sign. */
static inline furrow_learn_conf *read_settings(const char *algorithm, char **settings, int count) {
  furrow_learn_conf *conf = NULL;
  check(furrow_learn_conf_create(&conf, &last));
  check(furrow_learn_conf_set_algorithm(conf, algorithm, &last));
  check(furrow_learn_conf_set(conf, "defaults", "angel", &last)); /* single steps, whose work is known */
  check(furrow_learn_conf_set(conf, "valid-ratio", "0", &last));
  for (int i = 0; i < count; i++) {
    char *value = strchr(settings[i], '=');
    if (!value) exit(2);
    *value = 0;
    check(furrow_learn_conf_set(conf, settings[i], value + 1, &last));
  }
  return conf;
}

/* Fits progress of furrow_trainer_fit_params; `user` begins with a bench_clock: when the rows are in memory. */
static inline bool start_clock(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)done, (void)total;
  bench_clock *began = user;
  if (began->wall == 0) *began = bench_now();
  return true;
}

/* All rows of a URI, as the model of the scorer reads them. */
static inline furrow_container *read_rows(const furrow_scorer *scorer, const char *uri) {
  furrow_sample_reader *samples = NULL;
  furrow_container *container = NULL;
  const furrow_rowblock *next = NULL;
  furrow_status status;
  check(furrow_container_create(&container, FURROW_KEY_U32, FURROW_VALUE_F32, &last));
  check(furrow_sample_reader_open(&samples, furrow_scorer_conf(scorer), uri, NULL, &last));
  while ((status = furrow_sample_reader_next(samples, &next, &last)) == FURROW_OK)
    check(furrow_container_push_block(container, next, &last));
  if (status != FURROW_END) check(status);
  furrow_sample_reader_close(samples);
  return container;
}

#endif
