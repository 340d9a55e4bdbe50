/* learn/score/additive.h: which layers of a graph are added up to its output: all of lr and fm, the wide part of
 * deepfm.
 */
#ifndef FW_LEARN_SCORE_ADDITIVE_H
#define FW_LEARN_SCORE_ADDITIVE_H

#include "learn/parameters/parameters.h"

/* (*times)[i]: how often the output of layer i is added to that of the graph; 0 for layers whose output others change,
 * and for SumPoolings, in whose place their inputs stand. To be freed with fw_free. */
furrow_status fw_additive_create(double **times, const fw_graph *graph, furrow_error *err) FURROW_MUST_USE;
/* Whether features act on a layer by themselves (an input layer without activation) or in pairs (BiInnerSumCross of an
 * embedding with free slots). */
bool fw_layer_is_linear(const fw_layer *layer);
bool fw_layer_is_pairs(const fw_graph *graph, const fw_layer *layer);

#endif
