/* cli/cmd_demo.h: the command demo. */
#ifndef FURROW_CLI_CMD_DEMO_H
#define FURROW_CLI_CMD_DEMO_H

#include "command.h"

extern const command demo_command;

#endif
