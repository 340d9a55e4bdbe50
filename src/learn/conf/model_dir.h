/* learn/conf/model_dir.h: what the model directories of nets and forests have in common: the parameters of saving, and
 * the files next to the matrices. */
#ifndef FW_LEARN_CONF_MODEL_DIR_H
#define FW_LEARN_CONF_MODEL_DIR_H

#include "base/buffer.h"
#include "learn/conf/conf.h"

/* The parameters of saving, complete. */
typedef struct fw_save_params {
  furrow_matrix_write_params write;
  const furrow_layer_formats *formats; /* NULL: the defaults */
  int32_t servers;
  int64_t part_size; /* 0: Angel's rule */
} fw_save_params;

/* Where the caller does not say how many servers there are to be, there are as many as ranks. */
furrow_status fw_save_params_read(fw_save_params *params, const furrow_trainer_save_params *given, unsigned ranks,
                                  furrow_error *err) FURROW_MUST_USE;
/* Writes graph.json, the files of the encoder, and `about` (may be NULL), the text of furrow.json. */
furrow_status fw_model_put_graph(furrow_model_writer *model, const furrow_learn_conf *conf, const fw_buffer *about,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
