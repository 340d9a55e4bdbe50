/* comm/collectives.h: one process or many that work together: what the modules call.
 *
 * Part `rank` of `ranks` of the data is a process's own. All ranks call the same functions in the same order, each from
 * one thread. Where ranks is 1 every function returns at once. */
#ifndef FW_COMM_COLLECTIVES_H
#define FW_COMM_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/comm.h"

/* The communicator of a process that is alone. */
const furrow_comm *fw_comm_self(void);
/* The caller's communicator, checked, or that of a process that is alone where `given` is NULL. E_ARGUMENT: one that
 * was not initialised or lacks a call. */
furrow_status fw_comm_of(const furrow_comm **comm, const furrow_comm *given, furrow_error *err) FURROW_MUST_USE;

/* values[i] = the sum of all ranks' values[i], added in the order of ranks, for each rank. */
furrow_status fw_comm_sum_f32(const furrow_comm *comm, float *values, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_comm_sum_f64(const furrow_comm *comm, double *values, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_comm_sum_i64(const furrow_comm *comm, int64_t *values, size_t count,
                              furrow_error *err) FURROW_MUST_USE;
/* values[i] = the largest of all ranks' values[i]. NaN counts for nothing. */
furrow_status fw_comm_max_f64(const furrow_comm *comm, double *values, size_t count, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_comm_max_u64(const furrow_comm *comm, uint64_t *values, size_t count,
                              furrow_error *err) FURROW_MUST_USE;

/* The sum of what the ranks before this one have, and of all ranks: where its rows begin among all rows. */
furrow_status fw_comm_offset(const furrow_comm *comm, uint64_t mine, uint64_t *before, uint64_t *all,
                             furrow_error *err) FURROW_MUST_USE;

/* Bytes of different length from every rank, for all ranks, in the order of ranks. `all` is allocated, to be freed with
 * fw_free; sizes (`ranks` entries, may be NULL) says how long each part is. */
furrow_status fw_comm_gather_all(const furrow_comm *comm, const void *bytes, size_t size, void **all, size_t *total,
                                 size_t *sizes, furrow_error *err) FURROW_MUST_USE;
/* Parts of different length for every rank; those of all ranks for this one are allocated, to be freed with fw_free.
 * send_size and receive_size have `ranks` entries; the second is filled in. */
furrow_status fw_comm_exchange_all(const furrow_comm *comm, const void *send, const size_t *send_size, void **receive,
                                   size_t *receive_size, furrow_error *err) FURROW_MUST_USE;

/* All ranks call it: returns `mine`, or E_STATE where another rank's is a failure, so that no rank waits for one that
 * has stopped. */
furrow_status fw_comm_all_ok(const furrow_comm *comm, furrow_status mine, furrow_error *err) FURROW_MUST_USE;
/* The same, but all ranks return the status of the first rank that failed, with its error. */
furrow_status fw_comm_share_status(const furrow_comm *comm, furrow_status mine, furrow_error *err) FURROW_MUST_USE;
/* Whether this is the rank that does what is done once: reports, files of the whole. */
static inline bool fw_comm_is_first(const furrow_comm *comm) {
  return comm->rank == 0;
}

#endif
