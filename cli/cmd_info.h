/* cli/cmd_info.h: furrow info: what a path is. */
#ifndef FURROW_CLI_CMD_INFO_H
#define FURROW_CLI_CMD_INFO_H

#include "command.h"

extern const command info_command;

#endif
