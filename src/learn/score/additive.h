/* learn/score/additive.h: which layers of a graph are added up to its output: all of lr and fm, the wide part of
 * deepfm.
 */
#ifndef FW_LEARN_SCORE_ADDITIVE_H
#define FW_LEARN_SCORE_ADDITIVE_H

#include "learn/net/net.h"

/* (*times)[i]: how often the output of layer i is added to that of the graph; 0 for layers whose output others change,
 * and for SumPoolings, in whose place their inputs stand. To be freed with fw_free. */
furrow_status fw_additive_create(double **times, const fw_graph *graph, furrow_error *err) FURROW_MUST_USE;
/* Whether features act on a layer by themselves (an input layer without activation) or in pairs (BiInnerSumCross of an
 * embedding with free slots). */
bool fw_layer_is_linear(const fw_layer *layer);
bool fw_layer_is_pairs(const fw_graph *graph, const fw_layer *layer);

/* The parameter of a layer: its weights, or its bias; SIZE_MAX: it has none. */
size_t fw_layer_parameter(const fw_net *net, size_t layer, bool bias);
/* Number i of a net's numbers, of either type; 0 where numbers is NULL. */
double fw_net_number(const fw_net *net, const void *numbers, size_t i);
/* Weight of a feature for an output of an input layer, of sparse or dense data. 0: the model does not have it. */
double fw_net_weight(const fw_net *net, size_t parameter, uint64_t feature, size_t output);

#endif
