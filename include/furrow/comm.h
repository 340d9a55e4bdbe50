/* furrow/comm.h: processes that work on one job together.
 *
 *   furrow_comm *comm = NULL;
 *   furrow_status status = furrow_comm_open_mpi(&comm, NULL, &err);   (under mpirun or srun)
 *   furrow_trainer_params_init(&params);
 *   params.comm = comm;
 *   …
 *   furrow_comm_close(comm);
 *
 * A communicator connects `ranks` processes, numbered from 0. It is a table of collective calls, so that a program can
 * bring its own; furrow_comm_open_mpi makes one of MPI, from a shared object that is loaded for it.
 *
 * Threads: the calls of a communicator are collective: all ranks make the same calls in the same order, each of them
 *          from one thread at a time.
 */
#ifndef FURROW_COMM_H
#define FURROW_COMM_H

#include <string.h>

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A communicator. Its calls return FURROW_OK, or a status that ends the job; err may be NULL. Sizes are in bytes. */
typedef struct furrow_comm furrow_comm;
struct furrow_comm {
  size_t size;          /* set by furrow_comm_init */
  unsigned rank, ranks; /* the number of this process, from 0; and how many there are */
  void *state;          /* the implementation's own */
  /* Sends a part of `send` to every rank, and receives one from every rank. send_size and receive_size have an entry
   * for each rank; parts lie one behind the other, in the order of ranks. What rank a sends to b must be what b
   * receives from a. Required. */
  furrow_status (*exchange)(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                            const size_t *receive_size, furrow_error *err);
  /* Gives the `size` bytes of every rank to all ranks: they lie in `all`, one behind the other, in the order of ranks;
   * sizes has an entry for each rank. Required. */
  furrow_status (*gather)(const furrow_comm *comm, const void *bytes, size_t size, void *all, const size_t *sizes,
                          furrow_error *err);
  /* Gives rank `root`'s bytes to all ranks. Required. */
  furrow_status (*broadcast)(const furrow_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err);
  /* Adds whole numbers of all ranks, for all ranks. NULL: the library adds what `exchange` and `gather` bring. */
  furrow_status (*sum_i64)(const furrow_comm *comm, int64_t *values, size_t count, furrow_error *err);
  /* Returns when all ranks have called it. Required. */
  furrow_status (*barrier)(const furrow_comm *comm, furrow_error *err);
  /* Ends all ranks of the job at once, with an exit code; does not return. NULL: it cannot. */
  void (*abort)(const furrow_comm *comm, int exit_code);
  /* Frees the communicator, when all ranks have called it. NULL: nothing is to be freed. */
  void (*close)(furrow_comm *comm);
};

/* Sets the size, and everything else to 0. */
static inline void furrow_comm_init(furrow_comm *comm) {
  memset(comm, 0, sizeof *comm);
  comm->size = sizeof *comm;
}

#ifdef __cplusplus
}
#endif

#endif
