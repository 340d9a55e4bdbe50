/* cli/model/cmd_model.h: the noun model and its verbs. */
#ifndef CLI_MODEL_CMD_MODEL_H
#define CLI_MODEL_CMD_MODEL_H

#include "core/command.h"

extern const command model_command;
extern const command model_info_command, model_dump_command, model_verify_command, model_diff_command;
extern const command model_convert_command, model_export_command, model_import_command, model_formats_command;
extern const command model_trees_command, model_importance_command;

#endif
