/* cli/core/ranks.h: the processes of one job, where the command was started by mpirun or srun. */
#ifndef CLI_CORE_RANKS_H
#define CLI_CORE_RANKS_H

#include <stdbool.h>

#include "furrow/comm.h"

/* The communicator of the job; NULL: this process is alone. */
const furrow_comm *ranks_comm(void);
/* The number of this process and how many there are: 0 of 1 where it is alone. */
unsigned ranks_number(void);
unsigned ranks_count(void);

#endif
