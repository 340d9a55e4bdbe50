/* cli/core/output.h: standard output, or another file, with a large buffer; numbers as text. */
#ifndef CLI_CORE_OUTPUT_H
#define CLI_CORE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/number_out.h"
#include "furrow/status.h"

/* After a failed write all further output is dropped; output_flush reports the failure. Text for a terminal contains no
 * control characters except line ends and tabs (shown_text.h). */
typedef struct output {
  FILE *file;    /* NULL: standard output */
  bool terminal; /* standard output is one */
  char *data;
  size_t used;
  int errnum;    /* errno of the failed write; 0: none failed */
  int exit_code; /* exit code of a command that did not fail: 1 for "the inputs differ", otherwise 0 */
  bool stored;   /* the command has stored its result; its output is only a report */
  size_t last;   /* bytes of the last piece that was written, or could not be; it is still in `data` */
} output;

enum { EXIT_UNREPORTED = 14 }; /* done, but the report could not be written */

enum { OUTPUT_BYTES = 1 << 20 }; /* size of the buffer, and the most that output_reserve returns */

furrow_status output_open(output *out, furrow_error *err);
void output_close(output *out);
/* Returns space for `size` more bytes; the caller then passes the number of bytes that it filled to output_upto. */
char *output_reserve(output *out, size_t size);
static inline void output_upto(output *out, const char *end) {
  out->used = (size_t)(end - out->data);
}
/* Prints data unchanged, for other programs. */
void output_bytes(output *out, const char *bytes, size_t size);
void output_data(output *out, const char *text);
/* Text for people: control characters are escaped in a pipe and a file as well. */
void output_shown(output *out, const char *text, size_t size);
void output_text(output *out, const char *text);
void output_format(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints %.6f, or %.6g if %.6f would show fewer than three significant digits of a number that is not 0. */
void output_decimals(output *out, double value);
/* Returns OK, E_IO, or END if the reader closed the pipe, which is not a failure. */
furrow_status output_flush(output *out, furrow_error *err);
/* Writes what was printed so far, so that a user sees it; a failure is reported by output_flush. */
void output_push(output *out);
/* Prints the output that could not be written to stderr, after output_flush has failed. */
void output_say_last(const output *out);
/* Returns whether standard output is a pipe without a reader. */
bool output_reader_is_gone(void);

/* Each writes at most NUMBER_TEXT bytes and returns their end. */
enum { NUMBER_TEXT = FW_NUMBER_TEXT };
static inline char *put_u64(char *at, uint64_t value) {
  return at + fw_write_u64(at, value);
}
static inline char *put_i64(char *at, int64_t value) {
  return at + fw_write_i64(at, value);
}
/* As printf("%.9g"), but every NaN is "nan". */
static inline char *put_f32(char *at, float value) {
  return at + fw_write_f32_g9(at, value);
}

#endif
