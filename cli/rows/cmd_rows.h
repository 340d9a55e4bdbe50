/* cli/rows/cmd_rows.h: the noun rows and its verbs. */
#ifndef CLI_ROWS_CMD_ROWS_H
#define CLI_ROWS_CMD_ROWS_H

#include "core/command.h"

extern const command rows_command;
extern const command rows_dump_command, rows_info_command, rows_convert_command, rows_split_command;

#endif
