/* learn/train/trainer.h: what scorers and models need of a trainer. */
#ifndef FW_LEARN_TRAIN_TRAINER_H
#define FW_LEARN_TRAIN_TRAINER_H

#include "comm/comm.h"
#include "learn/forest/forest.h"
#include "learn/net/net.h"

const furrow_learn_conf *fw_trainer_conf(const furrow_trainer *trainer);
/* The one that it trains; the other is NULL. */
const fw_net *fw_trainer_net(const furrow_trainer *trainer);
const fw_forest *fw_trainer_forest(const furrow_trainer *trainer);
/* Trains as one of several processes; the communicator must outlive the trainer (learn/net/param_mixing.h). */
void fw_trainer_set_comm(furrow_trainer *trainer, const fw_comm *comm);

#endif
