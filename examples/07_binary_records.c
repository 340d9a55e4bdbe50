/* examples/07_binary_records.c: binary files as rows: a format of records of one size, and one of records that say
 * their length.
 *
 * "clicks" has a head of 4 bytes, then records of 12: label (float), item (uint32_t), price (float). "baskets" has
 * records that begin with their number of items (uint32_t), then the label (float) and the items (uint32_t each).
 * Furrow cuts the files, in parts and for threads; the formats see whole records. The program makes a file of each,
 * reads it whole, in parts, in threads and from memory, and returns 0 if all is as it should be.
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- clicks: every record has 12 bytes -------------------------------------------------------------------- */

enum { CLICK = 12, CLICK_HEAD = 4 };

static size_t click_size(const void *state) {
  (void)state;
  return CLICK;
}

/* Adds the rows of the chunk, which is some whole records. */
static furrow_status click_chunk(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                 furrow_error *err) {
  (void)state;
  furrow_status status = FURROW_OK;
  for (size_t at = 0; at < chunk->length && status == FURROW_OK; at += CLICK) {
    float label, price;
    uint32_t item;
    memcpy(&label, chunk->bytes + at, 4);
    memcpy(&item, chunk->bytes + at + 4, 4);
    memcpy(&price, chunk->bytes + at + 8, 4);
    if (label != 0 && label != 1) {
      status = furrow_rows_chunk_refuse(chunk, at, "a label is 0 or 1", err);
      continue;
    }
    const furrow_row row = {.label.f32 = &label, .length = 1, .index.u32 = &item, .value.f32 = &price};
    status = furrow_container_push_row(rows, &row, err);
  }
  return status;
}

static const furrow_rows_format clicks = {
    .size = sizeof(furrow_rows_format),
    .name = "clicks",
    .description = "binary: label, item, price",
    .parse_chunk = click_chunk,
    .record_size = click_size,
    .head_bytes = CLICK_HEAD,
};
FURROW_REGISTER_ROWS_FORMAT(clicks);

/* ---- baskets: a record says how long it is ------------------------------------------------------------------ */

static size_t basket_length(const void *state, const char *bytes, size_t length) {
  (void)state;
  uint32_t items;
  if (length < 4) return 0; /* more bytes are needed to tell */
  memcpy(&items, bytes, 4);
  return 8 + 4 * (size_t)items;
}

static furrow_status basket_chunk(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                  furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0; at < chunk->length && status == FURROW_OK;) {
    const size_t n = basket_length(state, chunk->bytes + at, chunk->length - at);
    if (n == 0 || n > chunk->length - at) return furrow_rows_chunk_refuse(chunk, at, "the record is cut short", err);
    uint32_t items[64];
    float label;
    const size_t count = (n - 8) / 4;
    if (count > sizeof items / sizeof items[0]) return furrow_rows_chunk_refuse(chunk, at, "too many items", err);
    memcpy(&label, chunk->bytes + at + 4, 4);
    memcpy(items, chunk->bytes + at + 8, 4 * count);
    const furrow_row row = {.label.f32 = &label, .length = count, .index.u32 = items};
    status = furrow_container_push_row(rows, &row, err);
    at += n;
  }
  return status;
}

static const furrow_rows_format baskets = {
    .size = sizeof(furrow_rows_format),
    .name = "baskets",
    .description = "binary: number of items, label, items",
    .parse_chunk = basket_chunk,
    .record_length = basket_length,
};
FURROW_REGISTER_ROWS_FORMAT(baskets);

/* ---- Trying them ---------------------------------------------------------------------------------------------- */

static int failures;

static void check(bool holds, const char *what) {
  printf("%s: %s\n", holds ? "ok" : "WRONG", what);
  failures += !holds;
}

enum { ROWS = 10000 };
static char bytes[ROWS * 64];

static size_t make_clicks(void) {
  size_t used = CLICK_HEAD;
  memcpy(bytes, "CLK1", CLICK_HEAD);
  for (uint32_t i = 0; i < ROWS; i++, used += CLICK) {
    const float label = (float)(i % 2), price = (float)i / 2;
    memcpy(bytes + used, &label, 4);
    memcpy(bytes + used + 4, &i, 4);
    memcpy(bytes + used + 8, &price, 4);
  }
  return used;
}

static size_t make_baskets(void) {
  size_t used = 0;
  for (uint32_t i = 0; i < ROWS; i++) {
    const uint32_t items = i % 5;
    const float label = (float)(i % 2);
    memcpy(bytes + used, &items, 4);
    memcpy(bytes + used + 4, &label, 4);
    for (uint32_t k = 0; k < items; k++) memcpy(bytes + used + 8 + 4 * k, &(uint32_t){i + k}, 4);
    used += 8 + 4 * items;
  }
  return used;
}

/* The sum of all indices of all parts; *rows counts. SIZE_MAX when something fails. */
static uint64_t sum_indices(const char *path, const char *format, uint32_t nparts, uint32_t threads, size_t *rows) {
  uint64_t sum = 0;
  *rows = 0;
  for (uint32_t part = 0; part < nparts; part++) {
    furrow_parser_params params =
        FURROW_INIT(furrow_parser_params, .part = part, .threads = threads, .chunk_bytes = 4096);
    params.format = format; /* fields whose default is not 0 are assigned: compilers warn about a second initialiser */
    params.nparts = nparts;
    furrow_parser *parser = NULL;
    const furrow_rowblock *block;
    furrow_error err;
    furrow_status status = furrow_parser_open(&parser, path, &params, &err);
    while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, &err)) == FURROW_OK) {
      for (uint64_t i = block->offset[0]; i < block->offset[block->size]; i++)
        sum += furrow_keys_get(block->index, block->key_type, (size_t)i);
      *rows += block->size;
    }
    furrow_parser_close(parser);
    if (status != FURROW_END) {
      char text[1024];
      furrow_error_to_text(&err, text, sizeof text);
      printf("%s\n", text);
      return UINT64_MAX;
    }
  }
  return sum;
}

static void try_format(const char *format, size_t size, uint64_t wanted) {
  char path[] = "/tmp/furrow-records-XXXXXX";
  const int fd = mkstemp(path);
  size_t rows;
  furrow_error err;
  check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, format);
  close(fd);
  check(sum_indices(path, format, 1, 1, &rows) == wanted && rows == ROWS, "every record, read at once");
  check(sum_indices(path, format, 5, 1, &rows) == wanted && rows == ROWS, "every record once, in five parts");
  check(sum_indices(path, format, 2, 4, &rows) == wanted && rows == ROWS, "every record once, in four threads");
  check(furrow_memory_file_add("memory://records", bytes, size, NULL, NULL, &err) == FURROW_OK &&
            sum_indices("memory://records", format, 3, 2, &rows) == wanted && rows == ROWS,
        "every record once, from memory");
  check(furrow_memory_file_remove("memory://records", &err) == FURROW_OK, "and removed");
  unlink(path);
}

int main(void) {
  uint64_t clicked = 0, bought = 0;
  for (uint64_t i = 0; i < ROWS; i++) {
    clicked += i;
    for (uint64_t k = 0; k < i % 5; k++) bought += i + k;
  }
  try_format("clicks", make_clicks(), clicked);
  try_format("baskets", make_baskets(), bought);
  return failures ? 1 : 0;
}
