/* comm/self_comm.c: the communicator of one process; checks of a communicator that a caller brings. */
#include "comm/collectives.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"

static furrow_status exchange(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                              const size_t *receive_size, furrow_error *err) {
  (void)comm, (void)receive_size, (void)err;
  if (send_size[0]) memmove(receive, send, send_size[0]);
  return FURROW_OK;
}

static furrow_status gather(const furrow_comm *comm, const void *bytes, size_t size, void *all, const size_t *sizes,
                            furrow_error *err) {
  (void)comm, (void)sizes, (void)err;
  if (size) memmove(all, bytes, size);
  return FURROW_OK;
}

static furrow_status broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err) {
  (void)comm, (void)bytes, (void)size, (void)root, (void)err;
  return FURROW_OK;
}

static furrow_status barrier(const furrow_comm *comm, furrow_error *err) {
  (void)comm, (void)err;
  return FURROW_OK;
}

const furrow_comm *fw_comm_self(void) {
  static const furrow_comm self = {.size = sizeof self,
                                   .ranks = 1,
                                   .exchange = exchange,
                                   .gather = gather,
                                   .broadcast = broadcast,
                                   .barrier = barrier};
  return &self;
}

furrow_status fw_comm_of(const furrow_comm **comm, const furrow_comm *given, furrow_error *err) {
  if (!given) {
    *comm = fw_comm_self();
    return FURROW_OK;
  }
  furrow_comm known;
  furrow_comm_init(&known);
  FW_TRY(FW_PARAMS_READ(&known, given, furrow_comm, err));
  if (known.ranks == 0 || known.rank >= known.ranks)
    return fw_fail(err, FURROW_E_ARGUMENT, "comm: rank %u of %u", known.rank, known.ranks);
  if (!known.exchange || !known.gather || !known.broadcast || !known.barrier)
    return fw_fail(err, FURROW_E_ARGUMENT, "comm: exchange, gather, broadcast and barrier are required");
  *comm = given;
  return FURROW_OK;
}
