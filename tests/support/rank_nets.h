/* tests/support/rank_nets.h: nets of several ranks, which are threads, whose numbers follow from their places; their
 * checkpoints. */
#ifndef RANK_NETS_H
#define RANK_NETS_H

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "learn/checkpoint/checkpoint.h"
#include "learn/parameters/snapshot.h"
#include "support/learn_conf.h"
#include "support/thread_ranks.h"

enum { RANK_NETS = 5, RANK_NET_KEYS = 400, RANK_NET_RANGE = 333 };

/* One rank's net, and what became of it. */
typedef struct rank_net {
  furrow_comm comm;
  const fw_plan *plan;
  const char *folder;
  uint64_t salt; /* of its numbers; those of its best epoch have salt + 1 */
  bool keeps_best;
  fw_parameters *net;
  fw_buffer best; /* of salt + 1, with fewer features */
  fw_checkpoint checkpoint;
  furrow_status status;
  furrow_error error;
} rank_net;

static inline fw_plan *rank_plan(bool open) {
  furrow_learn_conf *conf = conf_new();
  fw_plan *plan = NULL;
  char range[16];
  snprintf(range, sizeof range, "%d", open ? -1 : RANK_NET_RANGE);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "deepfm", &err), FURROW_OK);
  conf_set_all(conf, "rank=3 fields=2 fc=4 optimizer=adam");
  assert_int_equal(furrow_learn_conf_set(conf, "range", range, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "model-type", open ? "T_DOUBLE_SPARSE_LONGKEY" : "T_FLOAT_DENSE", &err),
                   FURROW_OK);
  assert_int_equal(fw_plan_of_conf(&plan, conf, &err), FURROW_OK);
  furrow_learn_conf_free(conf);
  return plan;
}

/* The i-th feature of an open net. */
static inline uint64_t rank_key(uint64_t i) {
  return i * 7919 + i * i % 1009;
}

static inline double rank_number(uint64_t salt, size_t parameter, size_t array, uint64_t at) {
  const uint64_t bits = (salt * 31 + parameter * 7 + array + 1) * 0x9E3779B97F4A7C15u + at * 0xD1B54A32D192ED03u;
  return (double)(bits >> 44) / 1024;
}

static inline void rank_put(const fw_parameters *net, void *numbers, size_t count, uint64_t salt, size_t parameter,
                            size_t array, uint64_t key) {
  for (size_t r = 0; numbers && r < count; r++) {
    const double number = rank_number(salt, parameter, array, key * 64 + r);
    if (net->element == sizeof(double))
      ((double *)numbers)[r] = number;
    else
      ((float *)numbers)[r] = (float)number;
  }
}

/* Features that the last epoch has and an earlier one did not have come at the end. */
static inline furrow_status rank_fill(fw_parameters *net, uint64_t salt, size_t keys, furrow_error *e) {
  const bool open = fw_parameters_are_open(net);
  const size_t count = open ? keys : RANK_NET_RANGE;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < net->count; i++) {
    const fw_parameter *about = &net->list[i];
    for (size_t array = 0; array <= about->state; array++) {
      if (!about->by_feature) rank_put(net, fw_parameters_dense(net, i, array), about->cols, salt, i, array, 0);
      for (size_t k = 0; status == FURROW_OK && about->by_feature && k < count; k++) {
        const uint64_t key = open ? rank_key(k) : k;
        if (!fw_parameters_own(net, key)) continue;
        if (open) status = fw_parameters_make(net, key, e);
        if (status == FURROW_OK)
          rank_put(net, fw_parameters_feature(net, i, key, array), about->rows, salt, i, array, key);
      }
    }
  }
  return status;
}

static inline furrow_status rank_append(void *to, const void *bytes, size_t size, furrow_error *e) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, e);
}

static inline furrow_status rank_make(rank_net *r) {
  const fw_parameters_params params = {.training = true, .seed = 1, .comm = &r->comm};
  return fw_parameters_create(&r->net, r->plan, &params, &r->error);
}

/* Fills a new net; takes the bytes of the best epoch on the way. */
static inline furrow_status rank_train(rank_net *r) {
  furrow_status status = rank_make(r);
  if (status == FURROW_OK && r->keeps_best) {
    status = rank_fill(r->net, r->salt + 1, RANK_NET_KEYS / 2, &r->error);
    if (status == FURROW_OK) status = fw_parameters_snapshot_write(r->net, rank_append, &r->best, &r->error);
  }
  return status == FURROW_OK ? rank_fill(r->net, r->salt, RANK_NET_KEYS, &r->error) : status;
}

static inline void *rank_save(void *item) {
  rank_net *r = item;
  fw_epoch epochs[2] = {{.shown.epoch = 1, .shown.best = true}, {.shown.epoch = 2}};
  epochs[0].train.rows = epochs[1].train.rows = 1000 + r->salt;
  fw_epochs_link(epochs, 2);
  if (!r->net) r->status = rank_train(r);
  r->status = fw_comm_all_ok(&r->comm, r->status, &r->error);
  if (r->status != FURROW_OK) return NULL;
  const fw_checkpoint checkpoint = {.steps = 20 + r->salt,
                                    .best_steps = 10 + r->salt,
                                    .best = r->keeps_best ? 1 : 2,
                                    .epochs = 2,
                                    .history = epochs,
                                    .best_snapshot = r->best};
  const fw_snapshot_ops ops = fw_parameters_snapshot_ops(r->net);
  r->status = fw_checkpoint_save(r->folder, &checkpoint, &ops, &r->comm, &r->error);
  return NULL;
}

static inline void *rank_load(void *item) {
  rank_net *r = item;
  r->status = fw_comm_all_ok(&r->comm, rank_make(r), &r->error);
  if (r->status == FURROW_OK) r->status = fw_checkpoint_tidy(r->folder, &r->comm, &r->error);
  if (r->status != FURROW_OK) return NULL;
  const fw_snapshot_ops ops = fw_parameters_snapshot_ops(r->net);
  r->status = fw_checkpoint_load(r->folder, &r->checkpoint, &ops, &r->comm, &r->error);
  return NULL;
}

static inline void rank_nets_run(rank_net *nets, unsigned ranks, void *(*body)(void *item), const rank_net *what) {
  for (unsigned r = 0; r < ranks; r++) {
    nets[r] = *what;
    nets[r].comm = thread_comm(r, ranks);
  }
  run_threads(ranks, body, nets, sizeof *nets);
}

static inline void rank_nets_free(rank_net *nets, unsigned ranks) {
  for (unsigned r = 0; r < ranks; r++) {
    fw_parameters_free(nets[r].net);
    fw_buffer_clear(&nets[r].best);
    fw_checkpoint_clear(&nets[r].checkpoint);
    nets[r].net = NULL;
  }
}

static inline void rank_assert_same(const fw_buffer *a, const fw_buffer *b) {
  assert_int_equal(a->size, b->size);
  if (a->size) assert_memory_equal(a->bytes, b->bytes, a->size);
}

/* Saves; every rank must succeed. */
static inline void rank_nets_save(unsigned ranks, const rank_net *what) {
  rank_net nets[RANK_NETS];
  rank_nets_run(nets, ranks, rank_save, what);
  for (unsigned r = 0; r < ranks; r++)
    if (nets[r].status != FURROW_OK) fail_msg("rank %u: %s: %s", r, nets[r].error.file, nets[r].error.message);
  rank_nets_free(nets, ranks);
}

/* What is loaded is what was saved with that salt: every number of every rank. */
static inline void rank_assert_loaded(const rank_net *loaded, uint64_t salt) {
  rank_net made = {.comm = loaded->comm, .plan = loaded->plan, .salt = salt, .keeps_best = loaded->keeps_best};
  fw_buffer a = {0}, b = {0};
  assert_int_equal(rank_train(&made), FURROW_OK);
  assert_int_equal(fw_parameters_snapshot_write(made.net, rank_append, &a, NULL), FURROW_OK);
  assert_int_equal(fw_parameters_snapshot_write(loaded->net, rank_append, &b, NULL), FURROW_OK);
  rank_assert_same(&a, &b);
  rank_assert_same(&made.best, &loaded->checkpoint.best_snapshot);
  assert_int_equal(loaded->checkpoint.steps, 20 + salt);
  assert_int_equal(loaded->checkpoint.epochs, 2);
  assert_int_equal(loaded->checkpoint.history[1].train.rows, 1000 + salt);
  fw_buffer_clear(&a);
  fw_buffer_clear(&b);
  rank_nets_free(&made, 1);
}

/* The salt of the checkpoint that is there, which must be whole. */
static inline uint64_t rank_nets_salt(unsigned ranks, const rank_net *what) {
  rank_net nets[RANK_NETS];
  rank_nets_run(nets, ranks, rank_load, what);
  const uint64_t salt = nets[0].checkpoint.steps - 20;
  for (unsigned r = 0; r < ranks; r++) {
    if (nets[r].status != FURROW_OK) fail_msg("rank %u: %s: %s", r, nets[r].error.file, nets[r].error.message);
    rank_assert_loaded(&nets[r], salt);
  }
  rank_nets_free(nets, ranks);
  return salt;
}

#endif
