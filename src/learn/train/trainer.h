/* learn/train/trainer.h: a trainer from the inside, and what scorers and tests need of it. */
#ifndef FW_LEARN_TRAIN_TRAINER_H
#define FW_LEARN_TRAIN_TRAINER_H

#include <stdatomic.h>

#include "base/pool.h"
#include "comm/collectives.h"
#include "learn/checkpoint/checkpoint.h"
#include "learn/forest/forest.h"
#include "learn/net/batch_slot.h"
#include "learn/net/net.h"
#include "learn/net/rank_batch.h"
#include "learn/train/notes.h"

enum { FW_TRAINER_SLOTS = 2 };

typedef struct fw_pipeline fw_pipeline; /* learn/train/pipeline.h */

/* What the last fit learned of its data, and did with it: for furrow.json. */
typedef struct fw_seen_data {
  uint64_t rows, digest;
  size_t scaled, centred; /* features in other units, and those whose mean was taken away */
  double label_mean, label_factor;
  bool exact;           /* by the exact minimum */
  uint32_t saved_epoch; /* 0: the last */
  double linear_loss;   /* of the validation rows, where the net became the linear model */
} fw_seen_data;

struct furrow_trainer {
  furrow_learn_conf *conf;
  fw_plan *plan;
  fw_net *net;       /* NULL: a forest is trained */
  fw_forest *forest; /* with stats; NULL: a net is trained */
  const furrow_comm *comm;
  fw_spin_pool *pool;
  fw_batch_slot slots[FW_TRAINER_SLOTS]; /* of single steps, and of several ranks: one is trained, one filled */
  fw_pipeline *pipeline;                 /* of epochs; NULL: there was none yet */
  fw_rank_batch *rank_batch;             /* nets of several ranks; else NULL */
  bool hogwild;                          /* was asked for: a fit says that it has no effect */
  bool loaded;                           /* it goes on from a model */
  bool trained;                          /* it goes on from a fit, or from steps */
  uint64_t max_features;
  bool fell_back;       /* the net is the linear model */
  atomic_bool diverged; /* a loss or score was not a number */
  uint32_t halvings;    /* of the learning rate, each after a divergence */
  uint64_t steps;       /* updates so far that the optimizers know of */
  /* of the last fit */
  fw_epoch *history;
  size_t epochs, history_capacity;
  uint32_t best;
  furrow_parser_stats train_read, valid_read; /* the latter: of validation data of its own */
  fw_notes notes;
  fw_seen_data seen;
  furrow_learn_metrics fold; /* of the rows that were left out; no rows: none were */
  double *class_factors;     /* see fw_trainer_weigh_classes; NULL: none are known */
};

/* Updates the net from the batch in a slot. */
furrow_status fw_trainer_update(furrow_trainer *trainer, fw_batch_slot *slot, uint32_t epoch, double *loss,
                                furrow_error *err) FURROW_MUST_USE;
/* Updates where there are several ranks: trains with the batches of `from`, of which this rank has some rows, until
 * there are none on any rank; done(user, rows) after each, with the rows of all ranks so far. A failure of any rank is
 * one of all. With `from` of one batch, as furrow_trainer_step has it, *loss is its mean loss. */
typedef furrow_status (*fw_rows_progress)(void *user, uint64_t rows, furrow_error *err);
typedef struct fw_rank_epoch {
  const fw_row_source *from;
  uint32_t epoch;
  fw_tally *tally; /* counts the rows of all ranks, in the order of one process; may be NULL */
  fw_rows_progress done;
  void *user;
} fw_rank_epoch;
furrow_status fw_trainer_update_ranks(furrow_trainer *trainer, const fw_rank_epoch *epoch, double *loss,
                                      furrow_error *err) FURROW_MUST_USE;
/* Scores all rows: take(user, slot) for each batch of them; with several ranks, on each rank for the rows of all. */
typedef void (*fw_scored_batch)(void *user, const fw_batch_slot *slot);
furrow_status fw_trainer_score(furrow_trainer *trainer, const fw_row_source *from, fw_scored_batch take, void *user,
                               furrow_error *err) FURROW_MUST_USE;
furrow_status fw_trainer_score_ranks(furrow_trainer *trainer, const fw_row_source *from, fw_scored_batch take,
                                     void *user, furrow_error *err) FURROW_MUST_USE;
/* A fw_scored_batch that counts the scores; `user` is the fw_tally. */
void fw_tally_batch(void *user, const fw_batch_slot *slot);
/* A net with first weights; and that net in place of the trainer's own, which is freed. */
furrow_status fw_trainer_new_net(const furrow_trainer *trainer, fw_net **net, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_trainer_adopt(furrow_trainer *trainer, fw_net *net, furrow_error *err) FURROW_MUST_USE;

/* The optimizers' state is that of a net that has not been trained. */
furrow_status fw_trainer_forget_steps(furrow_trainer *trainer, furrow_error *err) FURROW_MUST_USE;
/* Takes over what was set in the trainer's configuration since its plan was made: a new plan, and a net or forest of it
 * with the weights that there were. */
furrow_status fw_trainer_replan(furrow_trainer *trainer, furrow_error *err) FURROW_MUST_USE;

/* From now on the rows of each class have the factors that the plan's class weights say: in updates and in the figures
 * of a fit. `rows`: how many each class has; NULL: not known, which is E_ARGUMENT where the factors depend on it. */
furrow_status fw_trainer_weigh_classes(furrow_trainer *trainer, const uint64_t *rows,
                                       furrow_error *err) FURROW_MUST_USE;
/* Rows have their own weights again. */
void fw_trainer_weigh_rows(furrow_trainer *trainer);

/* The n-th update of the net, from 1: its learning rate. */
fw_step fw_trainer_step_at(const furrow_trainer *trainer, uint64_t number, uint32_t epoch);

#endif
