/* comm/comm.h: one process or many that train together. */
#ifndef FW_COMM_COMM_H
#define FW_COMM_COMM_H

#include <stddef.h>

#include "furrow/status.h"

/* What training sees of the processes: part `rank` of `size` of the data is its own, partitions of a matrix belong to
 * rank (partition % size). All ranks call the same functions in the same order. */
typedef struct fw_comm fw_comm;
struct fw_comm {
  unsigned rank, size;
  void *state; /* the implementation's own */
  /* values[i] = the sum of all ranks' values[i], added in the order of ranks, for each rank. */
  furrow_status (*allreduce_f32)(const fw_comm *comm, float *values, size_t count, furrow_error *err);
  furrow_status (*allreduce_f64)(const fw_comm *comm, double *values, size_t count, furrow_error *err);
  /* Rank `root`'s bytes, for each rank. */
  furrow_status (*broadcast)(const fw_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err);
  /* all[r * size …] = rank r's bytes, for each rank. */
  furrow_status (*gather)(const fw_comm *comm, const void *bytes, size_t size, void *all, furrow_error *err);
  furrow_status (*barrier)(const fw_comm *comm, furrow_error *err);
};

/* The communicator of a process that is alone. */
const fw_comm *fw_comm_self(void);

/* All ranks call it: returns `mine`, or E_STATE where another rank's is a failure, so that no rank waits for one that
 * has stopped. */
furrow_status fw_comm_all_ok(const fw_comm *comm, furrow_status mine, furrow_error *err) FURROW_MUST_USE;

#endif
