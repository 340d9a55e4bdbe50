/* comm/comm.c: the communicator of one process, whose sums and copies are its own values; whether all ranks can go on.
 */
#include "comm/comm.h"

#include <string.h>

#include "base/error.h"

static furrow_status allreduce_f32(const fw_comm *comm, float *values, size_t count, furrow_error *err) {
  (void)comm, (void)values, (void)count, (void)err;
  return FURROW_OK;
}

static furrow_status allreduce_f64(const fw_comm *comm, double *values, size_t count, furrow_error *err) {
  (void)comm, (void)values, (void)count, (void)err;
  return FURROW_OK;
}

static furrow_status broadcast(const fw_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err) {
  (void)comm, (void)bytes, (void)size, (void)root, (void)err;
  return FURROW_OK;
}

static furrow_status gather(const fw_comm *comm, const void *bytes, size_t size, void *all, furrow_error *err) {
  (void)comm, (void)err;
  if (size) memmove(all, bytes, size);
  return FURROW_OK;
}

static furrow_status barrier(const fw_comm *comm, furrow_error *err) {
  (void)comm, (void)err;
  return FURROW_OK;
}

const fw_comm *fw_comm_self(void) {
  static const fw_comm self = {.size = 1,
                               .allreduce_f32 = allreduce_f32,
                               .allreduce_f64 = allreduce_f64,
                               .broadcast = broadcast,
                               .gather = gather,
                               .barrier = barrier};
  return &self;
}

furrow_status fw_comm_all_ok(const fw_comm *comm, furrow_status mine, furrow_error *err) {
  if (comm->size == 1) return mine;
  double failed = mine != FURROW_OK;
  furrow_error lost;
  furrow_status status = comm->allreduce_f64(comm, &failed, 1, mine == FURROW_OK ? err : &lost);
  if (mine != FURROW_OK || status != FURROW_OK) return mine != FURROW_OK ? mine : status;
  return failed > 0 ? fw_fail(err, FURROW_E_STATE, "another process failed") : FURROW_OK;
}
