/* learn/layers/net_real.h: what the files that make up a net of one type share. */
#ifndef FW_LEARN_LAYERS_NET_REAL_H
#define FW_LEARN_LAYERS_NET_REAL_H

#include "learn/layers/layer.h"

/* First weights of a dense array, and of a feature's record (context: the real_net) (first_weights.c). */
void REAL_NAME(fw_first_dense)(const real_net *net, const node *self);
void REAL_NAME(fw_first_record)(const void *context, uint64_t key, void *record);

/* The net itself (net_build.c). */
furrow_status REAL_NAME(fw_net_build)(void **net, const fw_plan *plan, const fw_net_params *params,
                                      furrow_error *err) FURROW_MUST_USE;
void REAL_NAME(fw_net_clear)(void *net);

#endif
