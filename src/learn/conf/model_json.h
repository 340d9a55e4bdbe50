/* learn/conf/model_json.h: furrow.json, which a model has beside Angel's files: docs/formats/furrow-json.md. */
#ifndef FW_LEARN_CONF_MODEL_JSON_H
#define FW_LEARN_CONF_MODEL_JSON_H

#include "base/buffer.h"
#include "learn/conf/conf.h"

/* Sets the keys of what the text says of the data. E_FORMAT: not such a file; E_UNSUPPORTED: of a later version. */
furrow_status fw_model_json_read(furrow_learn_conf *conf, const char *text, size_t size, const char *file,
                                 furrow_error *err) FURROW_MUST_USE;

/* Lists of names as the text of a key: commas between them; %, commas and bytes below 32 in a name are %XX. */
void fw_names_append(fw_buffer *list, const char *name, size_t size);
/* The first name of such a list to `name` (as many bytes as the list has are enough); returns where the next begins,
 * NULL: it was the last. */
const char *fw_next_name(const char *list, char *name, size_t *size);

#endif
