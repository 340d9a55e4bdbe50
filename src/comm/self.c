/* comm/self.c: the communicator of one process: sums and copies are what it has. */
#include <string.h>

#include "comm/comm.h"

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
