/* io/process/process_stop.c: stopping the process: calls that would wait or run for long return early. */
#include "io/process/process_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/error.h"
#include "furrow/io.h"

enum { LOOK_MS = 50, WRITER_MS = 5 }; /* the signal may arrive in another thread than the waiting one */

static atomic_bool stopped;

void furrow_process_interrupt(void) {
  atomic_store(&stopped, true);
}

bool fw_is_stopped(void) {
  return atomic_load_explicit(&stopped, memory_order_relaxed);
}

furrow_status fw_check_stopped(furrow_error *err) {
  return fw_is_stopped() ? fw_fail(err, FURROW_E_CANCELLED, "the process was asked to stop") : FURROW_OK;
}

furrow_status fw_wait_readable(int fd, furrow_error *err) {
  struct pollfd wanted = {.fd = fd, .events = POLLIN};
  int ready = 0;
  while (ready == 0 || (ready < 0 && errno == EINTR)) {
    FW_TRY(fw_check_stopped(err));
    ready = poll(&wanted, 1, LOOK_MS);
  }
  return FURROW_OK; /* also if poll fails: the read then reports why */
}

/* tee copies the first byte without consuming it; it returns 0 if there is neither a byte nor a writer. */
static bool has_writer(int fd, int scratch) {
  return tee(fd, scratch, 1, SPLICE_F_NONBLOCK) != 0;
}

furrow_status fw_wait_for_writer(int fd, furrow_error *err) {
  struct pollfd wanted = {.fd = fd, .events = POLLIN}; /* POLLHUP: a writer came and has gone */
  int scratch[2];
  if (pipe2(scratch, O_CLOEXEC) != 0) return fw_wait_readable(fd, err);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && poll(&wanted, 1, WRITER_MS) <= 0 && !has_writer(fd, scratch[1]))
    status = fw_check_stopped(err);
  close(scratch[0]);
  close(scratch[1]);
  return status;
}
