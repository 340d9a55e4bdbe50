/* cli/core/ranks.h: the processes of one job, where the command was started by mpirun or srun.
 *
 * A command that is marked on_all_ranks runs in every process; any other runs in that of rank 0, while the others wait.
 * Only rank 0 writes to stdout, and its notes and progress to stderr. The failure of a job is printed once.
 */
#ifndef CLI_CORE_RANKS_H
#define CLI_CORE_RANKS_H

#include <stdbool.h>

#include "furrow/comm.h"

/* The communicator of the job; NULL: this process is alone, or the command runs on rank 0 only. */
const furrow_comm *ranks_comm(void);
/* The number of this process and how many there are: 0 of 1 where it is alone. */
unsigned ranks_number(void);
unsigned ranks_count(void);

/* Opens MPI where mpirun or srun has started several processes, or where --mpi is among the words. Returns 0; or an
 * exit code where it cannot, which rank 0 has said. */
int ranks_open(int argc, char **argv);
/* Before a command runs: returns whether this process runs it. Processes that run it together are watched from now on:
 * one that does not answer for `timeout` seconds (0: FURROW_RANK_TIMEOUT, or 60) ends the job. *status: a failure. */
bool ranks_begin(bool on_all_ranks, double timeout, furrow_status *status, furrow_error *err);
/* At the end: waits for all processes, prints a failure once, and returns the exit code of the job. Does not return
 * where the job has to be ended by force. */
int ranks_finish(furrow_status status, const furrow_error *err, int exit_code);
/* In a new process (fork), which is alone. */
void ranks_forget(void);

#endif
