/* comm/collectives.h: the collective operations that the modules call, for one process or many.
 *
 * Each process owns part `rank` of `ranks` of the data. All ranks call the same functions in the same order, each
 * from one thread. If ranks is 1, every function returns at once. */
#ifndef FW_COMM_COLLECTIVES_H
#define FW_COMM_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/comm.h"

/* The communicator of a single process. */
const furrow_comm *fw_comm_self(void);
/* Returns the caller's communicator after checking it, or the communicator of a single process if `given` is NULL.
 * E_ARGUMENT: it was not initialised or lacks a function. */
furrow_status fw_comm_of(const furrow_comm **comm, const furrow_comm *given, furrow_error *err) FURROW_MUST_USE;

/* values[i] = the sum of all ranks' values[i], added in rank order; every rank gets the result. */
furrow_status fw_comm_sum_f32(const furrow_comm *comm, float *values, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_comm_sum_f64(const furrow_comm *comm, double *values, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_comm_sum_i64(const furrow_comm *comm, int64_t *values, size_t count,
                              furrow_error *err) FURROW_MUST_USE;
/* values[i] = the largest of all ranks' values[i]. NaN is ignored. */
furrow_status fw_comm_max_f64(const furrow_comm *comm, double *values, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_comm_max_u64(const furrow_comm *comm, uint64_t *values, size_t count,
                              furrow_error *err) FURROW_MUST_USE;

/* Sums `mine` over the ranks before this one and over all ranks: *before is where this rank's rows begin among all
 * rows. */
furrow_status fw_comm_offset(const furrow_comm *comm, uint64_t mine, uint64_t *before, uint64_t *all,
                             furrow_error *err) FURROW_MUST_USE;

/* Gathers bytes of different length from every rank on all ranks, in rank order. `all` is allocated; free it with
 * fw_free. sizes (`ranks` entries, may be NULL) gets the length of each part. */
furrow_status fw_comm_gather_all(const furrow_comm *comm, const void *bytes, size_t size, void **all, size_t *total,
                                 size_t *sizes, furrow_error *err) FURROW_MUST_USE;
/* Sends a part of any length to every rank. The parts that this rank receives are allocated; free them with fw_free.
 * send_size and receive_size have `ranks` entries; receive_size is filled in. */
furrow_status fw_comm_exchange_all(const furrow_comm *comm, const void *send, const size_t *send_size, void **receive,
                                   size_t *receive_size, furrow_error *err) FURROW_MUST_USE;

/* All ranks call it. Returns `mine`, or E_STATE if another rank failed, so that no rank waits for one that has
 * stopped. */
furrow_status fw_comm_all_ok(const furrow_comm *comm, furrow_status mine, furrow_error *err) FURROW_MUST_USE;
/* The same, but all ranks return the status of the first rank that failed, with its error. On ranks without this error
 * the message begins with "another process failed: rank 2 of 8 (host): ". */
furrow_status fw_comm_share_status(const furrow_comm *comm, furrow_status mine, furrow_error *err) FURROW_MUST_USE;
/* Whether this rank does the work that is done only once: reports, files of the whole job. */
static inline bool fw_comm_is_first(const furrow_comm *comm) {
  return comm->rank == 0;
}

#endif
