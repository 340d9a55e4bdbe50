/* model/format/format_snapshot.c: formats that are only read: checkpoints (SnapshotFormat) and the data of Angel
 * 1.x. */
#include "base/endian.h"
#include "base/error.h"
#include "model/format/matrix_format.h"

/* ---- SnapshotFormat: each row as it was in memory, dense (values) or sparse (pairs in any order) --------- */

enum { SAVED_DENSE, SAVED_SPARSE };

static const furrow_matrix_format *snapshot_layout(const furrow_matrix_format_context *context) {
  return context->save_type == SAVED_SPARSE ? &fw_col_id_value_binary : &fw_value_binary;
}

static void snapshot_size(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  snapshot_layout(context)->record_size(context, least, most);
}

static furrow_status snapshot_decode(const furrow_matrix_format_context *context, const char *bytes, size_t size,
                                     bool last, size_t *used, furrow_matrix_records *records, furrow_error *err) {
  if (context->save_type != SAVED_DENSE && context->save_type != SAVED_SPARSE)
    return fw_fail(err, FURROW_E_FORMAT, "saveType of row %d is %d; a snapshot has 0 (dense) and 1 (sparse)",
                   (int)context->row_id, (int)context->save_type);
  const furrow_status status = snapshot_layout(context)->decode(context, bytes, size, last, used, records, err);
  if (status != FURROW_OK || context->save_type == SAVED_SPARSE) return status;
  for (size_t i = 0; i < records->count; i++)
    records->col_ids[i] = (int64_t)((uint64_t)context->first_col + context->position + i);
  return FURROW_OK;
}

const furrow_matrix_format fw_snapshot = {
    .size = sizeof(furrow_matrix_format),
    .flags = FURROW_MATRIX_FORMAT_COL_IDS,
    .name = "SnapshotFormat",
    .class_name = FW_ANGEL_FORMATS "SnapshotFormat",
    .about = "checkpoints: values, or column id and value, as the row's saveType says; only read",
    .record_size = snapshot_size,
    .decode = snapshot_decode};

/* ---- Angel 1.x: a partition is the count of its rows (i32) and the rows: row id (i32), then dense: a value for each
 * column; sparse: count (i32) and (column id, value) pairs ------------------------------------------------ */

/* Words of context->state. */
enum { STEP, ROWS_LEFT, ELEMENTS_LEFT, ROW_ID };
enum { AT_START, AT_ROW };

static size_t element_bytes(const furrow_matrix_format_context *context) {
  return fw_element_bytes(context->type) + (context->dense ? 0 : (size_t)context->key_bits / 8);
}

static size_t row_head_bytes(const furrow_matrix_format_context *context) {
  return context->dense ? 4 : 8;
}

static void angel1_size(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  *least = element_bytes(context);
  *most = 4 + row_head_bytes(context) + *least;
}

static furrow_status locate_count(const char *what, int32_t count, size_t offset, furrow_error *err) {
  return fw_format_error_at(err, fw_fail(err, FURROW_E_FORMAT, "%s is %d", what, (int)count), offset, NULL, 0);
}

/* Reads the header of the partition and the headers of rows, as far as they are complete; *at is moved past them. */
static furrow_status take_heads(const furrow_matrix_format_context *context, const char *bytes, size_t size, size_t *at,
                                furrow_error *err) {
  uint64_t *state = context->state;
  if (state[STEP] == AT_START && size - *at >= 4) {
    const int32_t rows = (int32_t)fw_get_be32(bytes + *at);
    if (rows < 0) return locate_count("count of rows", rows, *at, err);
    state[STEP] = AT_ROW;
    state[ROWS_LEFT] = (uint64_t)rows;
    *at += 4;
  }
  while (state[STEP] == AT_ROW && state[ELEMENTS_LEFT] == 0 && state[ROWS_LEFT] > 0 &&
         size - *at >= row_head_bytes(context)) {
    const int32_t count = context->dense ? 0 : (int32_t)fw_get_be32(bytes + *at + 4);
    if (count < 0) return locate_count("count of a row's elements", count, *at + 4, err);
    state[ROW_ID] = fw_get_be32(bytes + *at);
    state[ELEMENTS_LEFT] = context->dense ? (uint64_t)(context->end_col - context->first_col) : (uint64_t)count;
    state[ROWS_LEFT]--;
    *at += row_head_bytes(context);
  }
  return FURROW_OK;
}

/* Decodes elements of one row from bytes[0 … size-1]; returns the bytes used. */
static size_t take_elements(const furrow_matrix_format_context *context, const char *bytes, size_t size,
                            furrow_matrix_records *records) {
  uint64_t *state = context->state;
  const size_t element = element_bytes(context);
  const size_t done = records->count;
  size_t n = size / element;
  if (n > records->capacity - done) n = records->capacity - done;
  if (n > state[ELEMENTS_LEFT]) n = (size_t)state[ELEMENTS_LEFT];
  furrow_matrix_records rest = {.capacity = n,
                                .col_ids = records->col_ids + done,
                                .values = (char *)records->values + done * fw_element_bytes(context->type)};
  const furrow_matrix_format *layout = context->dense ? &fw_value_binary : &fw_col_id_value_binary;
  size_t used = 0;
  /* complete records of a fixed size cannot fail */
  if (layout->decode(context, bytes, n * element, false, &used, &rest, NULL) != FURROW_OK) return 0;
  const uint64_t first = (uint64_t)context->end_col - state[ELEMENTS_LEFT]; /* dense: the next column */
  for (size_t i = 0; i < n; i++) {
    records->row_ids[done + i] = (int32_t)(uint32_t)state[ROW_ID];
    if (context->dense) rest.col_ids[i] = (int64_t)(first + i);
  }
  state[ELEMENTS_LEFT] -= n;
  records->count = done + n;
  return used;
}

/* Nothing more can be decoded: fails if bytes are left over or missing. */
static furrow_status check_end(const furrow_matrix_format_context *context, size_t at, size_t size, bool last,
                               furrow_error *err) {
  const uint64_t *state = context->state;
  const bool complete = state[STEP] == AT_ROW && state[ROWS_LEFT] == 0 && state[ELEMENTS_LEFT] == 0;
  furrow_status status = FURROW_OK;
  if (complete && at < size)
    status = fw_fail(err, FURROW_E_FORMAT, "something follows the last row of the partition");
  else if (!complete && last)
    status = fw_fail(err, FURROW_E_FORMAT, "the partition ends early: %llu rows and %llu elements of a row are missing",
                     (unsigned long long)state[ROWS_LEFT], (unsigned long long)state[ELEMENTS_LEFT]);
  return status == FURROW_OK ? status : fw_format_error_at(err, status, at, NULL, 0);
}

static furrow_status angel1_decode(const furrow_matrix_format_context *context, const char *bytes, size_t size,
                                   bool last, size_t *used, furrow_matrix_records *records, furrow_error *err) {
  if (context->dense && context->end_col < context->first_col)
    return fw_fail(err, FURROW_E_FORMAT, "the partition ends before it begins");
  furrow_matrix_records taken = *records;
  taken.count = 0;
  size_t at = 0, before;
  furrow_status status;
  do {
    before = at;
    status = take_heads(context, bytes, size, &at, err);
    if (status != FURROW_OK) return status;
    if (context->state[ELEMENTS_LEFT] > 0) at += take_elements(context, bytes + at, size - at, &taken);
  } while (at > before && taken.count < taken.capacity);
  if (taken.count < taken.capacity || at == size) status = check_end(context, at, size, last, err);
  if (status != FURROW_OK) return status;
  records->count = taken.count;
  *used = at;
  return FURROW_OK;
}

const furrow_matrix_format fw_angel1 = {.size = sizeof(furrow_matrix_format),
                                        .flags = FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS,
                                        .name = "Angel1Format",
                                        .class_name = "furrow.Angel1Format",
                                        .about = "the data of Angel 1.x: rows with their ids and counts; only read",
                                        .record_size = angel1_size,
                                        .decode = angel1_decode};
