/* learn/score/model_in.h: fills the parameters of a net from a model directory, ours or Angel's. */
#ifndef FW_LEARN_SCORE_MODEL_IN_H
#define FW_LEARN_SCORE_MODEL_IN_H

#include "learn/net/net.h"

/* Reads the matrix of every parameter, partition by partition: weights of the net's own features alone. What a matrix
 * does not have stays as it is (a net for scoring starts with 0). E_NOT_FOUND names a matrix that is missing, E_FORMAT
 * one that does not fit its layer and what is wrong with it. */
furrow_status fw_model_load(fw_net *net, const fw_plan *plan, const char *folder, furrow_fc_order fc_order,
                            unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* The configuration that a model's graph.json gives. */
furrow_status fw_model_read_conf(furrow_learn_conf **conf, const char *folder, furrow_error *err) FURROW_MUST_USE;

#endif
