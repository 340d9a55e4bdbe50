/* io/process/process_stop.h: whether the process was asked to stop. */
#ifndef FW_IO_PROCESS_STOP_H
#define FW_IO_PROCESS_STOP_H

#include <stdbool.h>

#include "furrow/status.h"

/* Whether furrow_process_interrupt was called. */
bool fw_is_stopped(void);
/* Fails with E_CANCELLED if it was. */
furrow_status fw_check_stopped(furrow_error *err) FURROW_MUST_USE;
/* Waits until a pipe, a socket or a terminal has something to read, or ends. E_CANCELLED if the process was asked to
 * stop. */
furrow_status fw_wait_readable(int fd, furrow_error *err) FURROW_MUST_USE;
/* Waits until a process has opened the pipe for writing, like open(2), but another thread can end this wait. The
 * pipe must have been opened with O_NONBLOCK. E_CANCELLED as above. */
furrow_status fw_wait_for_writer(int fd, furrow_error *err) FURROW_MUST_USE;

#endif
