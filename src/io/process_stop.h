/* io/process_stop.h: whether the process is to end what it is doing. */
#ifndef FW_IO_PROCESS_STOP_H
#define FW_IO_PROCESS_STOP_H

#include <stdbool.h>

#include "furrow/status.h"

/* Whether furrow_process_interrupt was called. */
bool fw_is_stopped(void);
/* E_CANCELLED if it was. */
furrow_status fw_check_stopped(furrow_error *err) FURROW_MUST_USE;
/* Waits until a pipe, a socket or a terminal has something to read, or ends. E_CANCELLED if the process is to stop. */
furrow_status fw_wait_readable(int fd, furrow_error *err) FURROW_MUST_USE;
/* Waits until a process has the pipe open for writing, as open(2) does, which no other thread could end. The pipe was
 * opened with O_NONBLOCK. E_CANCELLED as above. */
furrow_status fw_wait_for_writer(int fd, furrow_error *err) FURROW_MUST_USE;

#endif
