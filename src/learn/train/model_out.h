/* learn/train/model_out.h: writes the parameters of a net as the model directory that Angel would write. */
#ifndef FW_LEARN_TRAIN_MODEL_OUT_H
#define FW_LEARN_TRAIN_MODEL_OUT_H

#include "learn/net/net.h"

/* `conf` gives graph.json. params NULL: the defaults. */
furrow_status fw_model_save(const fw_net *net, const fw_plan *plan, const furrow_learn_conf *conf, const char *folder,
                            const furrow_trainer_save_params *params, furrow_error *err) FURROW_MUST_USE;

/* What the directories of nets and forests have in common: the parameters with the defaults of what they leave open,
 * and graph.json. */
furrow_trainer_save_params fw_model_params_used(const furrow_trainer_save_params *params);
furrow_status fw_model_put_graph(furrow_model_writer *model, const furrow_learn_conf *conf,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
