/* learn/net/param_mixing.h: training by several processes, each with its part of the data.
 *
 * What ranks do together: the data is cut into parts (fw_samples_open), figures are added up (fw_tally_reduce), and
 * after every epoch all ranks go on with the mean of their parameters (iterative parameter mixing: McDonald, Hall,
 * Mann, "Distributed training strategies for the structured perceptron", 2010). With one rank nothing happens. */
#ifndef FW_LEARN_NET_PARAM_MIXING_H
#define FW_LEARN_NET_PARAM_MIXING_H

#include "comm/collectives.h"
#include "learn/net/net.h"

/* E_UNSUPPORTED: features that get their records as they appear are not the same ones for all ranks. */
furrow_status fw_mix_parameters(const furrow_comm *comm, fw_net *net, furrow_error *err) FURROW_MUST_USE;

#endif
