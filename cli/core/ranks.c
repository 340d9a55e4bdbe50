/* cli/core/ranks.c: the processes of one job, where the command was started by mpirun or srun. */
#include "core/ranks.h"

#include <stddef.h>

static const furrow_comm *the_comm;

const furrow_comm *ranks_comm(void) {
  return the_comm;
}

unsigned ranks_number(void) {
  return the_comm ? the_comm->rank : 0;
}

unsigned ranks_count(void) {
  return the_comm ? the_comm->ranks : 1;
}
