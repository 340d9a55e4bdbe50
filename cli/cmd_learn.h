/* cli/cmd_learn.h: the commands of learning. */
#ifndef FURROW_CLI_CMD_LEARN_H
#define FURROW_CLI_CMD_LEARN_H

#include "command.h"

extern const command train_command, predict_command, eval_command;

#endif
