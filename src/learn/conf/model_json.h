/* learn/conf/model_json.h: furrow.json, which a model has beside Angel's files: docs/formats/furrow-json.md. */
#ifndef FW_LEARN_CONF_MODEL_JSON_H
#define FW_LEARN_CONF_MODEL_JSON_H

#include "learn/conf/conf.h"

/* Sets the keys of what the text says of the data. E_FORMAT: not such a file; E_UNSUPPORTED: of a later version. */
furrow_status fw_model_json_read(furrow_learn_conf *conf, const char *text, size_t size, const char *file,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
