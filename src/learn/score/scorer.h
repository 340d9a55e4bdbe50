/* learn/score/scorer.h: a scorer from the inside, for the files of this folder and for recommendations. */
#ifndef FW_LEARN_SCORE_SCORER_H
#define FW_LEARN_SCORE_SCORER_H

#include "comm/collectives.h"
#include "learn/data/minibatch.h"
#include "learn/forest/forest.h"
#include "learn/net/net.h"
#include "learn/nodes/node_forest.h"

/* The columns of the data that features come from. */
typedef struct fw_score_columns {
  const char **names; /* of the encoder or of the scorer */
  size_t count;       /* 0: features do not come from named columns */
  size_t *of_field;   /* the column of each field of the encoder; NULL: feature i comes from column i */
} fw_score_columns;

/* Lists the columns of an encoder, or (NULL) of features with names. */
furrow_status fw_score_columns_init(fw_score_columns *columns, const furrow_encoder *encoder, char **names,
                                    size_t name_count, furrow_error *err) FURROW_MUST_USE;
void fw_score_columns_clear(fw_score_columns *columns);

struct furrow_scorer {
  furrow_learn_conf *conf;
  fw_plan *plan;
  fw_parameters *parameters; /* NULL: trees */
  fw_net *net;
  double *additive;  /* what fw_additive_create made of the net's layers */
  fw_forest *forest; /* NULL: a net, or: */
  fw_forest_predictor *predictor;
  fw_node_forest *nodes; /* a forest of another program; NULL: not one */
  fw_node_predictor *node_predictor;
  char **names; /* names of features; NULL: they have none */
  size_t name_count;
  furrow_encoder *encoder; /* NULL: a model of rows */
  fw_score_columns columns;
};

typedef struct fw_explainer fw_explainer;

/* Contributions of a row, summed by column. */
typedef struct fw_column_sums {
  uint64_t *columns; /* 0, 1, 2 … */
  double *values;
  size_t column_capacity, value_capacity;
} fw_column_sums;

void fw_column_sums_clear(fw_column_sums *sums);

struct furrow_scorer_scratch {
  fw_batcher *batcher;
  fw_pass *pass;
  fw_predict_scratch *predict_scratch;
  fw_node_scratch *node_scratch;
  double *outputs;         /* nets: of a row; trees: of as many rows as are scored at once */
  fw_explainer *explainer; /* NULL: furrow_scorer_contributions has not been called */
  fw_column_sums columns;
};

/* A scorer of a forest, or of parameters (forest NULL): it has copies of them and of their configuration. */
furrow_status fw_scorer_create(furrow_scorer **scorer, const furrow_learn_conf *conf, const fw_forest *forest,
                               const fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;
/* Runs the model over one row: scratch->outputs. */
furrow_status fw_scorer_run_row(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_row *row,
                                furrow_error *err) FURROW_MUST_USE;
/* Runs the model over all rows of a block and calls take(user, row of the block, its label after the transform, its
 * weight, outputs) for each. */
typedef void (*fw_outputs_callback)(void *user, size_t row, double label, double weight, const double *outputs);
furrow_status fw_scorer_run(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                            fw_outputs_callback take, void *user, furrow_error *err) FURROW_MUST_USE;

/* (*times)[i]: how often the output of layer i is added to the output of the graph (all layers of lr and fm, the wide
 * part of deepfm). 0 for layers whose output other layers transform, and for SumPoolings, whose inputs count in their
 * place. To be freed with fw_free. */
furrow_status fw_additive_create(double **times, const fw_graph *graph, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_explainer_free(fw_explainer *explainer);

/* Adds the rows of all ranks, one rank after the other: each has the figures of one process. For the metrics alone. */
furrow_status fw_evaluation_add_ranks(furrow_evaluation *evaluation, furrow_scorer_scratch *scratch,
                                      const furrow_rowblock *rows, const furrow_comm *comm,
                                      furrow_error *err) FURROW_MUST_USE;

#endif
