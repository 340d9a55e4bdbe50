/* cli/learn/cmd_learn.h: the commands of learning. */
#ifndef CLI_LEARN_CMD_LEARN_H
#define CLI_LEARN_CMD_LEARN_H

#include "core/command.h"

extern const command train_command, predict_command, eval_command;

#endif
