/* tests/fuzz/serve/fuzz_serve_log.c: logs of changes from hostile bytes.
 *
 * The first byte says what the rest is: 0, the bytes of a log; 1, records without checksums, which are made right, so
 * that everything behind them is reached. What is accepted must be sound, and must be the same when it is written and
 * read again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/harness/fuzz_check.h"

#include "furrow/vector.h"
#include "indexes/change_log.h"

enum { D = 2 };

/* What was read is written once more. */
static furrow_status take_change(void *user, const index_change *change, furrow_error *err) {
  fw_buffer *again = user;
  check(change->n > 0 && (change->kind == CHANGE_SET || change->kind == CHANGE_REMOVE));
  for (size_t i = 0; i < change->n; i++) check(change->ids[i] >= 0);
  if (change->kind == CHANGE_SET) check(furrow_first_invalid_vector(change->vectors, change->n, D) == change->n);
  return log_append_record(again, change, D, 1, LOG_HEADER + again->size, err);
}

static furrow_status count_change(void *user, const index_change *change, furrow_error *err) {
  (void)err;
  *(size_t *)user += change->n;
  return FURROW_OK;
}

static void read_again(fw_buffer *records) {
  fw_buffer log = {0};
  log_extent extent;
  furrow_error err;
  unsigned char header[LOG_HEADER];
  size_t ids = 0;
  log_write_header(header, D, 1, 0, 0);
  log_seal(records, 1, LOG_HEADER);
  fw_buffer_append(&log, header, sizeof header);
  fw_buffer_append(&log, records->bytes, records->size);
  check(!log.missing);
  check(change_log_read(log.bytes, log.size, D, "fuzz", count_change, &ids, &extent, &err) == FURROW_OK);
  check(extent.used == log.size && extent.sequence == 1);
  fw_buffer_clear(&log);
}

static void read_log(const void *data, size_t size) {
  fw_buffer again = {0};
  log_extent extent = {0};
  furrow_error err;
  const furrow_status status = change_log_read(data, size, D, "fuzz", take_change, &again, &extent, &err);
  if (status == FURROW_OK)
    check(extent.used <= size && extent.used % 8 == 0);
  else
    check(status == FURROW_E_FORMAT && err.offset <= size && err.message[0]);
  read_again(&again);
  fw_buffer_clear(&again);
}

static uint64_t get_u64(const unsigned char *from) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; i++) value |= (uint64_t)from[i] << 8 * i;
  return value;
}

static void put_u64(unsigned char *to, uint64_t value) {
  for (unsigned i = 0; i < 8; i++) to[i] = (unsigned char)(value >> 8 * i);
}

/* Makes the checksums of records right, as far as their lengths can be followed. */
static void complete(unsigned char *log, size_t size) {
  log_write_header(log, D, 1, 0, 0);
  for (size_t at = LOG_HEADER; size - at >= 32;) {
    const uint64_t length = get_u64(log + at);
    put_u64(log + at + 24, log_checksum(log + at, 24, 1, at));
    if (length < 40 || length % 8 != 0 || length > size - at) return;
    put_u64(log + at + length - 8, log_checksum(log + at + 32, (size_t)length - 40, 1, at));
    at += (size_t)length;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const bool is_made = data[0] % 2 == 1;
  const size_t header = is_made ? LOG_HEADER : 0, length = header + size - 1;
  unsigned char *log = malloc(length ? length : 1); /* no longer, so that reading beyond it is noticed */
  check(log != NULL);
  memcpy(log + header, data + 1, size - 1);
  if (is_made) complete(log, length);
  read_log(log, length);
  free(log);
  return 0;
}
