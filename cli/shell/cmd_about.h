/* cli/shell/cmd_about.h: commands about commands, made from the tables that --help is made from. */
#ifndef CLI_SHELL_CMD_ABOUT_H
#define CLI_SHELL_CMD_ABOUT_H

#include "core/command.h"

extern const command completion_command; /* the script of a shell */
extern const command complete_command;   /* what such a script asks */
extern const command man_command;        /* pages of the manual */

#endif
