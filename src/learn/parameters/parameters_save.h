/* learn/parameters/parameters_save.h: writes parameters as the model directory that Angel would write. */
#ifndef FW_LEARN_PARAMETERS_SAVE_H
#define FW_LEARN_PARAMETERS_SAVE_H

#include "base/buffer.h"
#include "learn/parameters/parameters.h"

/* `conf` gives graph.json, `about` (may be NULL) is the text of furrow.json. params NULL: the defaults. All ranks
 * call it: partition i is written by the rank of server i % servers, which gets the weights of the features in
 * it from their ranks; the first rank writes the metadata and all else, and gives the directory its name. */
furrow_status fw_parameters_save(const fw_parameters *p, const furrow_learn_conf *conf, const fw_buffer *about,
                                 const char *folder, const furrow_trainer_save_params *params,
                                 furrow_error *err) FURROW_MUST_USE;

/* What the directories of nets and forests have in common: the parameters of saving, complete, and graph.json. */
typedef struct fw_save_params {
  furrow_matrix_write_params write;
  const furrow_layer_formats *formats; /* NULL: the defaults */
  int32_t servers;
  int64_t part_size; /* 0: Angel's rule */
} fw_save_params;

/* Where the caller does not say how many servers there are to be, there are as many as ranks. */
furrow_status fw_save_params_read(fw_save_params *params, const furrow_trainer_save_params *given, unsigned ranks,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_model_put_graph(furrow_model_writer *model, const furrow_learn_conf *conf, const fw_buffer *about,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
