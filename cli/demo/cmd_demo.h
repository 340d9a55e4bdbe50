/* cli/demo/cmd_demo.h: the command demo. */
#ifndef CLI_DEMO_CMD_DEMO_H
#define CLI_DEMO_CMD_DEMO_H

#include "core/command.h"

extern const command demo_command;

#endif
