/* learn/train/trainer_state.h: a trainer from the inside. */
#ifndef FW_LEARN_TRAIN_TRAINER_STATE_H
#define FW_LEARN_TRAIN_TRAINER_STATE_H

#include "base/pool.h"
#include "comm/comm.h"
#include "learn/forest/forest.h"
#include "learn/net/batch_slot.h"

/* A batch is filled, begun, and trained, each in the turn after the other. */
enum { FW_PIPELINE_DEPTH = 3 };

struct furrow_trainer {
  furrow_learn_conf *conf;
  fw_plan *plan;
  fw_net *net;       /* NULL: a forest is trained */
  fw_forest *forest; /* with stats; NULL: a net is trained */
  const fw_comm *comm;
  fw_spin_pool *pool;
  fw_batch_slot slots[FW_PIPELINE_DEPTH];
  bool hogwild;
  uint64_t max_features;
  uint64_t steps; /* updates so far */
  /* of the last fit */
  furrow_epoch *history;
  size_t epochs, history_capacity;
  uint32_t best;
  furrow_parser_stats train_read, valid_read; /* the latter: of validation data of its own */
};

/* One update of the batch in lanes[0]. Meanwhile lanes[1] finds the records of the batch that it holds, and lanes[2]
 * takes the one after it from `from` (NULL: nothing follows, and there are no such lanes). The scores are counted in
 * `tally` (may be NULL). A failure of what follows is told after the update. */
furrow_status fw_trainer_update(furrow_trainer *trainer, fw_batch_slot *const slots[FW_PIPELINE_DEPTH],
                                const fw_row_source *from, uint32_t epoch, fw_tally *tally, double *loss,
                                furrow_error *err) FURROW_MUST_USE;
/* Counts the scores of all rows. */
furrow_status fw_trainer_score(furrow_trainer *trainer, const fw_row_source *from, fw_tally *tally,
                               furrow_error *err) FURROW_MUST_USE;
/* A net with first weights; and that net in place of the trainer's own, which is freed. */
furrow_status fw_trainer_new_net(const furrow_trainer *trainer, fw_net **net, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_trainer_adopt(furrow_trainer *trainer, fw_net *net, furrow_error *err) FURROW_MUST_USE;

/* The n-th update of the net, from 1: its learning rate. */
fw_step fw_trainer_step_at(const furrow_trainer *trainer, uint64_t number, uint32_t epoch);

#endif
