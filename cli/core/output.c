/* cli/core/output.c: standard output, or another file, with a large buffer; numbers as text. */
#include "core/output.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/shown_text.h"

/* ---- Buffer --------------------------------------------------------------------------------------------- */

furrow_status output_open(output *out, furrow_error *err) {
  *out = (output){.data = malloc(OUTPUT_BYTES), .terminal = isatty(STDOUT_FILENO) == 1};
  return out->data ? FURROW_OK : fail_memory(err);
}

void output_close(output *out) {
  free(out->data);
  *out = (output){0};
}

static void write_stdout(void *to, const char *bytes, size_t size) {
  output *out = to;
  for (size_t done = 0; done < size && !out->errnum;) {
    ssize_t n = write(STDOUT_FILENO, bytes + done, size - done);
    if (n >= 0)
      done += (size_t)n;
    else if (errno != EINTR || interrupt_came())
      out->errnum = errno;
  }
}

static void write_all(output *out) {
  if (out->file) {
    if (!out->errnum && fwrite(out->data, 1, out->used, out->file) != out->used) out->errnum = errno;
  } else if (out->terminal) { /* also escapes data of output_bytes */
    shown_pieces(out->data, out->used, write_stdout, out);
  } else {
    write_stdout(out, out->data, out->used);
  }
  out->last = out->used;
  out->used = 0;
}

void output_push(output *out) {
  write_all(out);
}

char *output_reserve(output *out, size_t size) {
  if (size > OUTPUT_BYTES - out->used) write_all(out);
  return out->data + out->used;
}

void output_bytes(output *out, const char *bytes, size_t size) {
  while (size > 0) {
    size_t n = size < OUTPUT_BYTES ? size : OUTPUT_BYTES;
    memcpy(output_reserve(out, n), bytes, n);
    out->used += n;
    bytes += n;
    size -= n;
  }
}

static void put_bytes(void *out, const char *bytes, size_t size) {
  output_bytes(out, bytes, size);
}

void output_shown(output *out, const char *text, size_t size) {
  shown_pieces(text, size, put_bytes, out);
}

void output_text(output *out, const char *text) {
  output_shown(out, text, strlen(text));
}

void output_data(output *out, const char *text) {
  output_bytes(out, text, strlen(text));
}

void output_format(output *out, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n > 0) output_shown(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void output_decimals(output *out, double value) {
  const bool tiny = value != 0 && fabs(value) < 1e-4;
  output_format(out, tiny ? "%.6g" : "%.6f", value);
}

furrow_status output_flush(output *out, furrow_error *err) {
  write_all(out);
  if (out->errnum == 0) return FURROW_OK;
  if (out->errnum == EPIPE) return FURROW_END;
  return fail(err, FURROW_E_IO, "cannot write to standard output: %s", strerror(out->errnum));
}

/* Line by line, because `say` limits the length of its text. */
void output_say_last(const output *out) {
  enum { MOST = 4000 };
  for (const char *at = out->data, *end = at + out->last; at < end;) {
    const char *line = memchr(at, '\n', (size_t)(end - at));
    const size_t length = line ? (size_t)(line - at) + 1 : (size_t)(end - at), size = length < MOST ? length : MOST;
    say("%.*s", (int)size, at);
    at += size;
  }
}

bool output_reader_is_gone(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}
