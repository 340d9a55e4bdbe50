/* learn/train/trainer.h: a trainer from the inside, and what scorers and tests need of it. */
#ifndef FW_LEARN_TRAIN_TRAINER_H
#define FW_LEARN_TRAIN_TRAINER_H

#include "learn/checkpoint/checkpoint.h"
#include "learn/conf/conf_data.h"
#include "learn/forest/forest.h"
#include "learn/net/net_solver.h"

/* What the last fit learned of its data, and did with it: for furrow.json. */
typedef struct fw_seen_data {
  uint64_t rows, digest;
  uint64_t features;      /* the largest feature, + 1; 0: it is not known */
  size_t scaled, centred; /* features in other units, and those whose mean was taken away */
  double label_mean, label_factor;
  bool exact;           /* it is the exact minimum */
  uint32_t saved_epoch; /* 0: the last */
  double linear_loss;   /* loss of the linear model on of the validation rows, where the net became the linear model */
} fw_seen_data;

/* What a training has to say in addition to its figures. */
typedef struct fw_note {
  char *text;
  bool warning; /* the model may be useless */
} fw_note;

struct furrow_trainer {
  furrow_learn_conf *conf;
  furrow_learn_conf *given; /* the configuration that a caller gave, before anything was settled */
  fw_plan *plan;
  fw_parameters *parameters; /* NULL: a forest is trained */
  fw_net_solver *solver;     /* updates the parameters; NULL: a forest is trained */
  fw_forest *forest;         /* with stats; NULL: a net is trained */
  const furrow_comm *comm;
  fw_spin_pool *pool;
  bool hogwild;             /* was asked for: a fit says that it has no effect */
  bool loaded;              /* it goes on from a model */
  uint64_t loaded_features; /* loaded features of that model's data; 0: it does not say */
  float *earlier; /* of the logs that the loaded model learned from: fw_dictionary_feature_sums; NULL: unknown */
  uint64_t earlier_features, earlier_rows;
  bool loaded_linear; /* the loaded net is its linear model */
  bool trained;       /* it goes on from a fit, or from steps */
  uint64_t max_features;
  bool fell_back; /* the net is the linear model */
  fw_train_steps steps;
  /* results of the last fit */
  fw_epoch *history;
  size_t epochs, history_capacity;
  uint32_t best;
  furrow_parser_stats train_read, valid_read; /* valid_read: zeros without separate validation data */
  fw_note *notes;
  size_t note_count, note_capacity;
  fw_seen_data seen;
  furrow_learn_metrics fold; /* figures of the rows that were left out; its rows are 0 if none were */
  double *class_factors;     /* see fw_trainer_weigh_classes; NULL: none are known */
  /* settings of the last fit */
  char metric[16]; /* "": none was named */
  bool keep_best;
  uint32_t patience;
};

/* Parameters with first weights. */
furrow_status fw_trainer_new_parameters(const furrow_trainer *trainer, fw_parameters **parameters,
                                        furrow_error *err) FURROW_MUST_USE;
/* Takes these parameters in place of the trainer's own, which are freed; after a failure both stay as they are. */
furrow_status fw_trainer_adopt(furrow_trainer *trainer, fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;
/* Both give the trainer its first weights again. */
furrow_status fw_trainer_restart(furrow_trainer *trainer, furrow_error *err) FURROW_MUST_USE;

/* Resets the optimizers' state, as before the first step. */
furrow_status fw_trainer_forget_steps(furrow_trainer *trainer, furrow_error *err) FURROW_MUST_USE;
/* Settles keys of the configuration; with a new plan, and parameters or a forest of it that keep the weights that there
 * were. settle_keys leaves the plan as it is, settle_base has it count indices from `base`. */
furrow_status fw_trainer_settle(furrow_trainer *trainer, const fw_settled *settled, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_trainer_settle_keys(furrow_trainer *trainer, const fw_settled *settled,
                                     furrow_error *err) FURROW_MUST_USE;
furrow_status fw_trainer_settle_base(furrow_trainer *trainer, int base, furrow_error *err) FURROW_MUST_USE;

__attribute__((format(printf, 4, 5))) furrow_status
fw_trainer_note(furrow_trainer *trainer, bool warning, furrow_error *err, const char *format, ...) FURROW_MUST_USE;
void fw_trainer_clear_notes(furrow_trainer *trainer);

/* Access to the parameters or the forest in training as checkpoints need it; makes a new object to read a checkpoint
 * into; puts this object in place of the trainer's own; or frees it. */
fw_snapshot_ops fw_trainer_snapshot_ops(const furrow_trainer *trainer);
furrow_status fw_trainer_new_object(const furrow_trainer *trainer, fw_snapshot_ops *made,
                                    furrow_error *err) FURROW_MUST_USE;
furrow_status fw_trainer_adopt_object(furrow_trainer *trainer, void *object, furrow_error *err) FURROW_MUST_USE;
void fw_trainer_free_object(const furrow_trainer *trainer, void *object);

/* The text of furrow.json (docs/formats/furrow-json.md), with the figures of folds where there are some. Nothing in it
 * depends on time, place or threads. */
furrow_status fw_model_json_write(const furrow_trainer *trainer, const furrow_learn_metrics *folds, size_t fold_count,
                                  fw_buffer *text, furrow_error *err) FURROW_MUST_USE;

/* From now on the rows of each class are weighted by the plan's class weights, in updates and in the figures of a fit.
 * `rows` has the number of rows of each class; NULL: not known, which is E_ARGUMENT if the weights depend on it. */
furrow_status fw_trainer_weigh_classes(furrow_trainer *trainer, const uint64_t *rows,
                                       furrow_error *err) FURROW_MUST_USE;
/* Removes the class weights: rows have only their own weights again. */
void fw_trainer_weigh_rows(furrow_trainer *trainer);

/* What a training is repeated with. */
typedef struct fw_repeated_fit {
  const char *data;
  const char *encoder;  /* directory of the encoder that reads the data */
  unsigned threads;     /* 0: one for each processor */
  furrow_on_bad on_bad; /* of the data */
  furrow_progress progress;
  void *progress_user;
} fw_repeated_fit;

/* Trains with the configuration and the settings of the trainer's last fit, from first weights, on other data. The
 * caller frees *repeated. */
furrow_status fw_trainer_repeat(furrow_trainer **repeated, const furrow_trainer *trainer, const fw_repeated_fit *with,
                                furrow_error *err) FURROW_MUST_USE;

#endif
