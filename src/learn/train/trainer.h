/* learn/train/trainer.h: a trainer from the inside, and what scorers and tests need of it. */
#ifndef FW_LEARN_TRAIN_TRAINER_H
#define FW_LEARN_TRAIN_TRAINER_H

#include "learn/checkpoint/checkpoint.h"
#include "learn/forest/forest.h"
#include "learn/net/net_solver.h"
#include "learn/train/notes.h"

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
  fw_parameters *parameters; /* NULL: a forest is trained */
  fw_net_solver *solver;     /* of the parameters; NULL likewise */
  fw_forest *forest;         /* with stats; NULL: a net is trained */
  const furrow_comm *comm;
  fw_spin_pool *pool;
  bool hogwild; /* was asked for: a fit says that it has no effect */
  bool loaded;  /* it goes on from a model */
  bool trained; /* it goes on from a fit, or from steps */
  uint64_t max_features;
  bool fell_back; /* the net is the linear model */
  fw_train_steps steps;
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

/* Parameters with first weights. */
furrow_status fw_trainer_new_parameters(const furrow_trainer *trainer, fw_parameters **parameters,
                                        furrow_error *err) FURROW_MUST_USE;
/* Takes these parameters in place of the trainer's own, which are freed; after a failure both stay as they are. */
furrow_status fw_trainer_adopt(furrow_trainer *trainer, fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;
/* Both: the trainer has its first weights again. */
furrow_status fw_trainer_restart(furrow_trainer *trainer, furrow_error *err) FURROW_MUST_USE;

/* The optimizers' state is that of parameters that have not been trained. */
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

#endif
