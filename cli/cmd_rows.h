/* cli/cmd_rows.h: the noun rows and its verbs. */
#ifndef FURROW_CLI_CMD_ROWS_H
#define FURROW_CLI_CMD_ROWS_H

#include "command.h"

extern const command rows_command;
extern const command rows_dump_command, rows_info_command, rows_convert_command, rows_split_command;

#endif
