/* learn/train/model_out.h: writes the parameters of a net as the model directory that Angel would write. */
#ifndef FW_LEARN_TRAIN_MODEL_OUT_H
#define FW_LEARN_TRAIN_MODEL_OUT_H

#include "learn/conf/model_dir.h"
#include "learn/net/net.h"

/* `conf` gives graph.json, `about` (may be NULL) is the text of furrow.json. params NULL: the defaults. All ranks of
 * the net call it: partition i is written by the rank of server i % servers, which gets the weights of the features in
 * it from their ranks; the first rank writes the metadata and all else, and gives the directory its name. */
furrow_status fw_model_save(const fw_net *net, const fw_plan *plan, const furrow_learn_conf *conf,
                            const fw_buffer *about, const char *folder, const furrow_trainer_save_params *params,
                            furrow_error *err) FURROW_MUST_USE;

#endif
