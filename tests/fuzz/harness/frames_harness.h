/* tests/fuzz/harness/frames_harness.h: any bytes as frames of typed columns, for fuzz_table.c.
 *
 * Frames are made in memory by the library itself; but a file may begin as they do, so a reader trusts none of their
 * numbers. What is a table is read twice, in one piece and in pieces of whole frames: both give the same records. */
#ifndef FRAMES_HARNESS_H
#define FRAMES_HARNESS_H

#include <string.h>

#include "base/mem.h"
#include "columns/frames.h"
#include "fuzz/harness/fuzz_check.h"
#include "rows/table/text_table.h"

typedef struct frames_reading {
  const fw_table *table;
  size_t slots;
  uint64_t records, bytes;
} frames_reading;

static void add_frames(frames_reading *r, const fw_table_cursor *cursor, const fw_table_batch *batch) {
  r->records += batch->records;
  for (size_t i = 0; i < batch->records; i++) {
    const size_t at = (size_t)(batch->begins[i] - cursor->offset);
    check(at < cursor->length && fw_table_columns_row(cursor->text, cursor->length, at) > 0);
    for (size_t s = 0; s < r->slots; s++) {
      const fw_table_cell *cell = &fw_table_cells(batch, s)[i];
      check((cell->kind == FW_TABLE_MISSING) == (cell->length == 0));
      for (uint32_t k = 0; k < cell->length; k++) r->bytes += (unsigned char)cell->text[k];
    }
  }
}

/* Reads a copy of the bytes that has nothing around it but the padding. */
static furrow_status read_frames(frames_reading *r, const uint8_t *data, size_t size, size_t from, size_t skip) {
  char *memory = calloc(1, size - from + 2 * FW_KERN_PAD);
  check(memory != NULL);
  memcpy(memory + FW_KERN_PAD, data + from, size - from);
  fw_table_batch batch;
  fw_table_cursor cursor = {.text = memory + FW_KERN_PAD, .length = size - from, .at = skip, .offset = from};
  furrow_error err;
  check(fw_table_batch_init(&batch, r->table, &err) == FURROW_OK);
  furrow_status status;
  while ((status = fw_table_next(r->table, &cursor, &batch, &err)) == FURROW_OK) add_frames(r, &cursor, &batch);
  check(status == FURROW_END || (status == FURROW_E_FORMAT && err.message[0]));
  fw_table_batch_clear(&batch);
  free(memory);
  return status;
}

static void try_frames(const uint8_t *data, size_t size) {
  fw_table_layout layout;
  furrow_error err = {0};
  fw_table *table = NULL;
  size_t skip = 0;
  const char *bytes = (const char *)data;
  const furrow_status found = fw_table_layout_find(&layout, NULL, bytes, size, true, &err);
  check(found == FURROW_OK || found == FURROW_E_FORMAT || found == FURROW_E_UNSUPPORTED);
  if (found != FURROW_OK) return;
  check(fw_table_layout_skip_head(&layout, bytes, size, &skip, &err) == FURROW_OK && skip <= size);
  check(fw_table_create(&table, &layout, (const char *const *)layout.names, layout.columns, NULL, &err) == FURROW_OK);
  frames_reading whole = {.table = table, .slots = layout.columns}, pieces = whole;
  const furrow_status status = read_frames(&whole, data, size, 0, skip);
  size_t end = skip;
  while (status == FURROW_END && end < size) {
    const size_t begin = end;
    end += fw_frames_cut(NULL, bytes + begin, size - begin < 4096 ? size - begin : 4096, begin);
    if (end == begin) end = size; /* a frame of more than 4 KiB, and the rest */
    check(read_frames(&pieces, data, end, begin, 0) == FURROW_END);
  }
  if (status == FURROW_END) check(whole.records == pieces.records && whole.bytes == pieces.bytes);
  fw_table_free(table);
  fw_table_layout_clear(&layout);
}

#endif
