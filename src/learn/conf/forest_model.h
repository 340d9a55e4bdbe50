/* learn/conf/forest_model.h: forests of other programs as models. */
#ifndef FW_LEARN_CONF_FOREST_MODEL_H
#define FW_LEARN_CONF_FOREST_MODEL_H

#include "learn/conf/conf.h"
#include "learn/nodes/forest_import.h"

/* Whether a model's path is a file: a model of another program. */
bool fw_path_is_import(const char *path);
/* Sets what scoring with the forest depends on. */
furrow_status fw_conf_take_import(furrow_learn_conf *conf, const fw_imported *imported,
                                  furrow_error *err) FURROW_MUST_USE;
/* The same for the file of another program. */
furrow_status fw_conf_read_import(furrow_learn_conf *conf, const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
