/* cli/core/ranks.h: the processes of one job, where the command was started by mpirun or srun.
 *
 * A command that is marked on_all_ranks runs in every process; any other runs only on rank 0, while the other processes
 * wait. Only rank 0 writes to stdout, and its notes and progress to stderr. The failure of a job is printed once.
 */
#ifndef CLI_CORE_RANKS_H
#define CLI_CORE_RANKS_H

#include <stdbool.h>

#include "furrow/comm.h"
#include "furrow/status.h"

/* The communicator of the job; NULL: this process is alone, or the command runs on rank 0 only. */
const furrow_comm *ranks_comm(void);
/* The number of this process and the number of processes: 0 of 1 for a single process. */
unsigned ranks_number(void);
unsigned ranks_count(void);

/* Opens MPI where mpirun or srun has started several processes, or where --mpi is among the words. Returns 0, or an
 * exit code if that fails; rank 0 has then printed the error. */
int ranks_open(int argc, char **argv);
/* Before a command runs: returns whether this process runs it. Processes that run it together are watched from now on:
 * one that does not answer for `timeout` seconds (0: FURROW_RANK_TIMEOUT, or 60) ends the job. *status: a failure. */
bool ranks_begin(bool on_all_ranks, double timeout, furrow_status *status, furrow_error *err);
/* At the end: waits for all processes, prints a failure once, and returns the exit code of the job. Does not return
 * where the job has to be ended by force. */
int ranks_finish(furrow_status status, const furrow_error *err, int exit_code);
/* Call it in a forked process, which is not part of the job. */
void ranks_forget(void);

/* Collective calls of a command: all ranks make them, in the same order. A single process returns at once. */

/* Returns OK where all ranks bring OK; else `mine`, or E_STATE where only others have failed. Of several failures the
 * first rank's is printed: parts are in the order of rows, so a single process would have found this one.
 */
furrow_status ranks_all_ok(furrow_status mine, furrow_error *err);
/* Gives the `size` bytes of every rank to all ranks, in the order of ranks; the caller frees *all. */
furrow_status ranks_gather(const void *mine, size_t size, void **all, furrow_error *err);
/* The sum of the numbers of the ranks before this one, and of all. */
furrow_status ranks_offset(uint64_t mine, uint64_t *before, uint64_t *all, furrow_error *err);

/* Gives rank 0 the bytes of all processes, in the order of ranks; the caller frees *all, which is NULL on other ranks.
 * All processes call it. */
furrow_status ranks_collect(const void *bytes, size_t size, void **all, size_t *total, furrow_error *err);

/* Returns the first of `total` items that belongs to process `rank`. */
uint64_t ranks_first(uint64_t total, unsigned rank);

#endif
