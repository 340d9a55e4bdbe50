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

/* The most bytes of a rank in `settle`. */
#define FURROW_SETTLE_BYTES 256

/* A function of the caller, called when a rank has not answered in time.
 * Owner:   the library; host is valid during the call.
 * Threads: called once, from a thread that belongs to the communicator. */
typedef void (*furrow_comm_lost)(void *user, unsigned rank, const char *host);

/* A communicator. Its calls return FURROW_OK, or a status that ends the job; err may be NULL. Sizes are in bytes. */
typedef struct furrow_comm furrow_comm;
struct furrow_comm {
  size_t size;          /* set by furrow_comm_init */
  unsigned rank, ranks; /* the number of this process, from 0; the number of processes */
  void *state;          /* the implementation's own */
  /* Sends each rank its part of `send`, and receives one part from each rank. send_size and receive_size have an entry
   * for each rank; the parts are stored one after the other, in the order of ranks. What rank a sends to b must be what
   * b receives from a. Required. */
  furrow_status (*exchange)(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                            const size_t *receive_size, furrow_error *err);
  /* Sends the `size` bytes of every rank to all ranks: `all` receives them one after the other, in the order of ranks;
   * sizes has an entry for each rank. Required. */
  furrow_status (*gather)(const furrow_comm *comm, const void *bytes, size_t size, void *all, const size_t *sizes,
                          furrow_error *err);
  /* Sends rank `root`'s bytes to all ranks. Required. */
  furrow_status (*broadcast)(const furrow_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err);
  /* Replaces each value by its sum over all ranks, on every rank. NULL: the library adds what `exchange` and `gather`
   * bring. */
  furrow_status (*sum_i64)(const furrow_comm *comm, int64_t *values, size_t count, furrow_error *err);
  /* Returns when all ranks have called it. Required. */
  furrow_status (*barrier)(const furrow_comm *comm, furrow_error *err);
  /* Ends all ranks of the job at once, with an exit code; does not return. NULL: not supported. */
  void (*abort)(const furrow_comm *comm, int exit_code);
  /* Frees the communicator, when all ranks have called it. NULL: there is nothing to free. */
  void (*close)(furrow_comm *comm);
  /* Ends this rank's part in the job, whatever calls the other ranks are in: sends `size` bytes (at most
   * FURROW_SETTLE_BYTES) to all ranks, and waits `seconds` for theirs (negative: without limit). settled[r] says
   * whether rank r's bytes have arrived in `all`. Once a rank has called it with `failed`, other ranks' calls that wait
   * for it return E_STATE ("another process failed"). Each rank calls it once. NULL: not supported. */
  furrow_status (*settle)(const furrow_comm *comm, bool failed, const void *bytes, size_t size, void *all,
                          bool *settled, double seconds, furrow_error *err);
  /* From now on a rank that does not answer for `seconds`, because its process or its machine has stopped, makes the
   * calls of the next rank fail (E_IO), and `lost` (may be NULL) is called there at once. A rank that is busy computing
   * still answers. All ranks call it, once. NULL: not supported. */
  furrow_status (*watch)(const furrow_comm *comm, double seconds, furrow_comm_lost lost, void *user, furrow_error *err);
};

/* Sets the size, and everything else to 0. */
static inline void furrow_comm_init(furrow_comm *comm) {
  memset(comm, 0, sizeof *comm);
  comm->size = sizeof *comm;
}

/* Opens the communicator of all processes that mpirun or srun has started; without a launcher it has one rank. MPI
 * comes from a shared object, libfurrow_mpi.so, which is searched for under the name `library`, or if that is NULL:
 * under the name in the environment variable FURROW_MPI; in the folders of the program and of the library; where it was
 * installed; where the system has its libraries. If there are several, the one for the launcher's MPI is chosen
 * (libfurrow_mpi_openmpi.so, libfurrow_mpi_mpich.so). Initialises MPI with MPI_THREAD_SERIALIZED, unless the program
 * has done so.
 * Errors:  E_NOT_FOUND, there is no such shared object, or it cannot be loaded; E_UNSUPPORTED, it is of another version
 *          of Furrow; E_STATE, the launcher has started more processes than this MPI knows of, so it belongs to another
 *          MPI, or MPI has ended; E_IO, MPI failed; E_MEMORY.
 * Owner:   the caller; furrow_comm_close closes it, and finalises MPI if this function has initialised it.
 * Threads: as MPI_Init: one thread, preferably the main thread. */
FURROW_API furrow_status furrow_comm_open_mpi(furrow_comm **comm, const char *library,
                                              furrow_error *err) FURROW_MUST_USE;
/* Opens a communicator for a program that has an MPI_Comm itself; mpi_comm points to it, and it is duplicated. All its
 * ranks call the function. A program that calls MPI from other threads at the same time as the library needs
 * MPI_THREAD_MULTIPLE; with less, only the thread that opened the communicator may use it, and `watch` is not
 * supported.
 * Errors:  as furrow_comm_open_mpi, but the number of processes is not compared with the launcher's.
 * Owner:   the caller; furrow_comm_close closes it. */
FURROW_API furrow_status furrow_comm_open_mpi_comm(furrow_comm **comm, const char *library, const void *mpi_comm,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Closes a communicator: all ranks call it. Takes NULL. */
FURROW_API void furrow_comm_close(furrow_comm *comm);

/* Gets the number of this process and the number of processes from the environment that mpirun or srun has set, before
 * MPI is initialised.
 * Returns: false, and rank 0 of 1, if neither started this process. */
FURROW_API bool furrow_comm_launched(unsigned *rank, unsigned *ranks);

#ifdef __cplusplus
}
#endif

#endif
