/* cli/info/cmd_info.h: furrow info: what a path is. */
#ifndef CLI_INFO_CMD_INFO_H
#define CLI_INFO_CMD_INFO_H

#include "core/command.h"

extern const command info_command;

#endif
