/* cli/core/output.h: standard output, or another file, with a large buffer; numbers as text. */
#ifndef CLI_CORE_OUTPUT_H
#define CLI_CORE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "furrow/status.h"

/* What is written after a failure is dropped; output_flush tells of it. */
typedef struct output {
  FILE *file; /* NULL: standard output */
  char *data;
  size_t used;
  int errnum;    /* of the write that failed; 0: none did */
  int exit_code; /* of a command that did not fail and still has something to say by it: 1 for "they differ"; 0 */
} output;

enum { OUTPUT_BYTES = 1 << 20 }; /* size of the buffer, and the most that output_reserve can give */

furrow_status output_open(output *out, furrow_error *err);
void output_close(output *out);
/* A place for `size` more bytes. Say with output_upto how far it was filled. */
char *output_reserve(output *out, size_t size);
static inline void output_upto(output *out, const char *end) {
  out->used = (size_t)(end - out->data);
}
void output_bytes(output *out, const char *bytes, size_t size);
void output_text(output *out, const char *text);
void output_format(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* OK; END when nobody reads any more (a closed pipe is no failure); E_IO. */
furrow_status output_flush(output *out, furrow_error *err);
/* Whether standard output is a pipe without a reader. */
bool output_reader_is_gone(void);

/* Each writes at most NUMBER_TEXT bytes and returns the end of them. */
enum { NUMBER_TEXT = 24 };
char *put_u64(char *at, uint64_t value);
char *put_i64(char *at, int64_t value);
/* As printf("%.9g"), but every NaN is "nan". */
char *put_f32(char *at, float value);

#endif
