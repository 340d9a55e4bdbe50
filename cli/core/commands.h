/* cli/core/commands.h: all commands. Each is defined in the file that is named after it (cmd_rows_dump.c). */
#ifndef CLI_CORE_COMMANDS_H
#define CLI_CORE_COMMANDS_H

#include "core/command.h"

extern const command demo_command, info_command;

extern const command rows_command;
extern const command rows_dump_command, rows_info_command, rows_convert_command, rows_split_command,
    rows_encode_command;
extern const command rows_schema_command;

extern const command model_command;
extern const command model_info_command, model_dump_command, model_verify_command, model_diff_command;
extern const command model_convert_command, model_export_command, model_import_command, model_formats_command;
extern const command model_trees_command, model_importance_command, model_weights_command;

extern const command train_command, tune_command, learn_command, predict_command, eval_command;
extern const command recommend_command, serve_command;

extern const command index_command;
extern const command index_info_command, index_map_command, index_verify_command, index_convert_command;
extern const command index_build_command, index_add_command, index_search_command, index_recall_command;
extern const command index_remove_command, index_merge_command, index_estimate_command, index_names_command;
extern const command index_attributes_command;
extern const command index_kmeans_command;

/* About commands, made from the tables that --help is made from. */
extern const command completion_command; /* prints the script of a shell */
extern const command complete_command;   /* answers that script */
extern const command man_command;        /* prints pages of the manual */

#endif
