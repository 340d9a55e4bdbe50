/* comm/all_ok.c: whether all ranks can go on. */
#include "base/error.h"
#include "comm/comm.h"

furrow_status fw_comm_all_ok(const fw_comm *comm, furrow_status mine, furrow_error *err) {
  if (comm->size == 1) return mine;
  double failed = mine != FURROW_OK;
  furrow_error lost;
  furrow_status status = comm->allreduce_f64(comm, &failed, 1, mine == FURROW_OK ? err : &lost);
  if (mine != FURROW_OK || status != FURROW_OK) return mine != FURROW_OK ? mine : status;
  return failed > 0 ? fw_fail(err, FURROW_E_STATE, "another process failed") : FURROW_OK;
}
