/* furrow/io.h: where bytes come from and go to.
 *
 * Every function that takes the path of something to write makes a file of this machine. Some also write to the caller:
 * they take a furrow_output.
 *
 *   furrow_output output;
 *   furrow_output_init(&output);
 *   output.write = send_to_socket;   (called with one piece after the other)
 *   output.user = &socket;
 *
 * Threads: functions of this header may be called from any thread.
 */
#ifndef FURROW_IO_H
#define FURROW_IO_H

#include <string.h>

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Bytes out ------------------------------------------------------------------------------------------- */

/* A place of the caller's that bytes are written to, in order. */
typedef struct furrow_output {
  size_t size; /* set by furrow_output_init */
  /* Takes the next `length` bytes, all of them: FURROW_OK, or a status that ends the writing and is what the caller of
   * the library gets. err is never NULL; its message may be set. Calls come one at a time. Required. */
  furrow_status (*write)(void *user, const void *bytes, size_t length, furrow_error *err);
  void *user; /* first argument of the callback */
} furrow_output;

/* Sets the size, and everything else to 0. */
static inline void furrow_output_init(furrow_output *out) {
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
}

#ifdef __cplusplus
}
#endif

#endif
