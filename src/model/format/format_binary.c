/* model/format/format_binary.c: the four binary formats. A record is [row id i32] [column id i32 or i64] values,
 * big-endian, without padding or headers. In a column format a record has one value for each saved row, otherwise one
 * value. */
#include "base/endian.h"
#include "base/error.h"
#include "model/format/matrix_format.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Sizes of the fields of a record. */
typedef struct layout {
  size_t row, key, value, values;
} layout;

static ALWAYS_INLINE layout layout_of(const furrow_matrix_format_context *context, unsigned flags) {
  return (layout){.row = flags & FURROW_MATRIX_FORMAT_ROW_IDS ? 4 : 0,
                  .key = flags & FURROW_MATRIX_FORMAT_COL_IDS ? (size_t)context->key_bits / 8 : 0,
                  .value = fw_element_bytes(context->type),
                  .values = flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? context->record_values : 1};
}

static ALWAYS_INLINE size_t record_bytes(layout l) {
  return l.row + l.key + l.value * l.values;
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

/* `size` is a constant at every call. */
static ALWAYS_INLINE void swap_one(char *restrict to, const char *restrict from, size_t size) {
  if (size == 4) {
    const uint32_t v = fw_get_be32(from);
    memcpy(to, &v, 4);
  } else {
    const uint64_t v = fw_get_be64(from);
    memcpy(to, &v, 8);
  }
}

static ALWAYS_INLINE void swap_all(char *restrict to, const char *restrict from, size_t count, size_t size) {
  for (size_t i = 0; i < count; i++) swap_one(to + size * i, from + size * i, size);
}

static ALWAYS_INLINE int64_t get_key(const char *p, size_t key) {
  return key == 4 ? (int32_t)fw_get_be32(p) : (int64_t)fw_get_be64(p);
}

static ALWAYS_INLINE void put_key(char *p, int64_t col, size_t key) {
  if (key == 4)
    fw_put_be32(p, (uint32_t)col);
  else
    fw_put_be64(p, (uint64_t)col);
}

/* ---- Records; the members of `l` are constants except the number of values ----------------------------- */

static ALWAYS_INLINE void read_records(const char *restrict in, size_t n, layout l, int32_t *restrict row_ids,
                                       int64_t *restrict col_ids, char *restrict values) {
  for (size_t i = 0; i < n; i++) {
    if (l.row) row_ids[i] = (int32_t)fw_get_be32(in);
    if (l.key) col_ids[i] = get_key(in + l.row, l.key);
    swap_all(values, in + l.row + l.key, l.values, l.value);
    values += l.value * l.values;
    in += record_bytes(l);
  }
}

static ALWAYS_INLINE void write_records(const furrow_panel *panel, size_t first, size_t n, layout l,
                                        char *restrict out) {
  const char *values = (const char *)panel->values.any + first * l.value * l.values;
  for (size_t i = 0; i < n; i++) {
    if (l.row) fw_put_be32(out, (uint32_t)panel->row_ids[0]);
    if (l.key) put_key(out + l.row, furrow_panel_col(panel, first + i), l.key);
    swap_all(out + l.row + l.key, values, l.values, l.value);
    values += l.value * l.values;
    out += record_bytes(l);
  }
}

/* Decodes or encodes records with constant sizes. */
static ALWAYS_INLINE void run(layout l, const char *in, const furrow_panel *panel, size_t first, size_t n,
                              furrow_matrix_records *records, char *out) {
  if (in)
    read_records(in, n, l, records->row_ids, records->col_ids, records->values);
  else
    write_records(panel, first, n, l, out);
}

static ALWAYS_INLINE void run_sizes(layout l, unsigned flags, const char *in, const furrow_panel *panel, size_t first,
                                    size_t n, furrow_matrix_records *records, char *out) {
  const size_t row = flags & FURROW_MATRIX_FORMAT_ROW_IDS ? 4 : 0;
  const size_t values = flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? l.values : 1;
  if (!(flags & FURROW_MATRIX_FORMAT_COL_IDS) && l.value == 4)
    run((layout){row, 0, 4, values}, in, panel, first, n, records, out);
  else if (!(flags & FURROW_MATRIX_FORMAT_COL_IDS))
    run((layout){row, 0, 8, values}, in, panel, first, n, records, out);
  else if (l.key == 4 && l.value == 4)
    run((layout){row, 4, 4, values}, in, panel, first, n, records, out);
  else if (l.key == 4)
    run((layout){row, 4, 8, values}, in, panel, first, n, records, out);
  else if (l.value == 4)
    run((layout){row, 8, 4, values}, in, panel, first, n, records, out);
  else
    run((layout){row, 8, 8, values}, in, panel, first, n, records, out);
}

/* ---- Functions shared by the formats -------------------------------------------------------------------- */

static ALWAYS_INLINE void record_size(const furrow_matrix_format_context *context, unsigned flags, size_t *least,
                                      size_t *most) {
  *least = *most = record_bytes(layout_of(context, flags));
}

static ALWAYS_INLINE furrow_status decode(const furrow_matrix_format_context *context, unsigned flags,
                                          const char *bytes, size_t size, bool last, size_t *used,
                                          furrow_matrix_records *records, furrow_error *err) {
  const layout l = layout_of(context, flags);
  const size_t record = record_bytes(l);
  const size_t whole = size / record;
  const size_t n = whole < records->capacity ? whole : records->capacity;
  if (last && n == whole && size % record != 0)
    return fw_format_error_at(
        err, fw_fail(err, FURROW_E_FORMAT, "the last record has %zu of %zu bytes", size % record, record),
        whole * record, NULL, 0);
  run_sizes(l, flags, bytes, NULL, 0, n, records, NULL);
  records->count = n;
  *used = n * record;
  return FURROW_OK;
}

static ALWAYS_INLINE furrow_status encode(const furrow_matrix_format_context *context, unsigned flags,
                                          const furrow_panel *panel, size_t first, size_t count, char *out,
                                          size_t *written, furrow_error *err) {
  const layout l = layout_of(context, flags);
  if (l.key == 4) {
    const furrow_status status = fw_format_check_keys(panel, first, count, err);
    if (status != FURROW_OK) return status;
  }
  run_sizes(l, flags, NULL, panel, first, count, NULL, out);
  *written = count * record_bytes(l);
  return FURROW_OK;
}

/* ---- The four formats ----------------------------------------------------------------------------------- */

#define FORMAT_CLASS "ValueBinaryRowFormat"
#define FORMAT_OBJECT fw_value_binary
#define FORMAT_FUNCTION(verb) verb##_values
#define FORMAT_FLAGS 0
#define FORMAT_ABOUT "values, row after row"
#include "model/format/format_tmpl.h"

#define FORMAT_CLASS "ColIdValueBinaryRowFormat"
#define FORMAT_OBJECT fw_col_id_value_binary
#define FORMAT_FUNCTION(verb) verb##_pairs
#define FORMAT_FLAGS FURROW_MATRIX_FORMAT_COL_IDS
#define FORMAT_ABOUT "column id and value, row after row"
#include "model/format/format_tmpl.h"

#define FORMAT_CLASS "RowIdColIdValueBinaryRowFormat"
#define FORMAT_OBJECT fw_row_id_col_id_value_binary
#define FORMAT_FUNCTION(verb) verb##_triples
#define FORMAT_FLAGS (FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS)
#define FORMAT_ABOUT "row id, column id and value, row after row"
#include "model/format/format_tmpl.h"

#define FORMAT_CLASS "BinaryColumnFormat"
#define FORMAT_OBJECT fw_binary_column
#define FORMAT_FUNCTION(verb) verb##_columns
#define FORMAT_FLAGS (FURROW_MATRIX_FORMAT_BY_COLUMN | FURROW_MATRIX_FORMAT_COL_IDS)
#define FORMAT_ABOUT "column id and the values of all rows, column after column"
#include "model/format/format_tmpl.h"
