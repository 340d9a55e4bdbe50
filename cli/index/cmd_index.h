/* cli/index/cmd_index.h: the noun index and its verbs. */
#ifndef CLI_INDEX_CMD_INDEX_H
#define CLI_INDEX_CMD_INDEX_H

#include "core/command.h"

extern const command index_command;
extern const command index_info_command, index_map_command, index_verify_command, index_convert_command;
extern const command index_build_command, index_add_command, index_search_command, index_recall_command;
extern const command index_remove_command, index_merge_command, index_estimate_command;

#endif
