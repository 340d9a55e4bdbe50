/* tests/fuzz/fuzz_matrix_format.c: any bytes through a format of matrices.
 *
 * Five bytes choose: format; type, width of column ids, saveType and whether rows are dense; separator and values of a
 * record; window; capacity. What comes out must not depend on windows, capacity and the level of instructions, nor on
 * whether text is read the fast way; and what was read, written and read again is the same. */
#include <math.h>
#include <stdint.h>

#include "fuzz/harness/isa_harness.h"
#include "support/matrix_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 5 };

static void require(int condition) {
  if (!condition) abort();
}

/* Those from PLAIN on may be part of a number: what is written with them need not be read. */
static const char *const separators[] = {",", "\t", " ", "|", "::", "\x01", ", ", "\xfd", "ab", ".", "-", "1", "NaN"};
enum { PLAIN = 8, SEPARATORS = sizeof separators / sizeof *separators };

/* NaNs of text have no bits of their own. */
static void make_nans_equal(record_list *list, furrow_element_type type) {
  for (size_t i = 0; i < list->count * list->values; i++) {
    double *f64 = (double *)(void *)list->elements + i;
    float *f32 = (float *)(void *)list->elements + i;
    if (type == FURROW_ELEMENT_F64 && isnan(*f64)) *f64 = (double)NAN;
    if (type == FURROW_ELEMENT_F32 && isnan(*f32)) *f32 = NAN;
  }
}

static char *write_again(const furrow_matrix_format *format, const furrow_matrix_format_context *context,
                         const record_list *list, size_t *size) {
  size_t least, most;
  format->record_size(context, &least, &most);
  char *bytes = malloc(list->count * most + 1);
  int32_t *row_ids = record_capacity(list->values, sizeof(int32_t));
  require(bytes != NULL);
  *size = 0;
  for (size_t i = 0; i < list->count; i++) {
    row_ids[0] = list->row_ids[i];
    const furrow_panel panel = {.rows = list->values,
                                .row_ids = row_ids,
                                .cols = 1,
                                .col_ids = list->col_ids + i,
                                .type = context->type,
                                .values = {list->elements + i * list->values * list->element}};
    size_t written = 0;
    require(format->encode(context, &panel, 0, 1, bytes + *size, &written, NULL) == FURROW_OK);
    require(written >= least && written <= most);
    *size += written;
  }
  free(row_ids);
  return bytes;
}

static void check_again(const furrow_matrix_format *format, const furrow_matrix_format_context *context,
                        record_list *list) {
  size_t size, other_size;
  make_nans_equal(list, context->type);
  char *bytes = write_again(format, context, list, &size);
  for (EACH_ISA(isa)) {
    use_isa(isa);
    char *other = write_again(format, context, list, &other_size);
    require(size == other_size && memcmp(bytes, other, size) == 0);
    free(other);
  }
  record_list again = decode_windows(format, context, bytes, size, size + 1, list->count + 1, decode_by_format);
  make_nans_equal(&again, context->type);
  require(record_lists_equal(list, &again));
  record_list_clear(&again);
  free(bytes);
}

static void check_same(const record_list *a, record_list b) {
  require(record_lists_equal(a, &b));
  record_list_clear(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < HEAD) return 0;
  const char *bytes = (const char *)data + HEAD;
  const size_t length = size - HEAD;
  const furrow_matrix_format *format = furrow_matrix_format_at(data[0] % 10);
  const size_t separator = data[2] % SEPARATORS;
  const furrow_matrix_format_context context = {
      .type = (furrow_element_type)(data[1] % 4),
      .key_bits = data[1] & 4 ? 64 : 32,
      .dense = data[1] & 8,
      .save_type = data[1] >> 4 & 3,
      .separator = separators[separator],
      .separator_length = strlen(separators[separator]),
      .record_values = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? 1u + data[2] / SEPARATORS : 1,
      .first_col = -3,
      .end_col = data[1] & 64 ? 2 : -3 + data[2]};
  const size_t window = 1u + data[3] * (data[3] < 128 ? 1u : 50u), capacity = 1u + data[4];
  use_isa(next_isa(FW_ISA_GENERIC));
  record_list whole = decode_windows(format, &context, bytes, length, length + 1, length + 1, decode_by_format);
  require(whole.status == FURROW_OK || (whole.err.message[0] != 0 && whole.err.status == whole.status));
  require(whole.status == FURROW_OK || whole.err.offset == FURROW_NO_OFFSET || whole.err.offset <= length);
  for (EACH_ISA(isa)) {
    use_isa(isa);
    check_same(&whole, decode_windows(format, &context, bytes, length, window, capacity, decode_by_format));
  }
  if (format->flags & FURROW_MATRIX_FORMAT_TEXT)
    check_same(&whole, decode_windows(format, &context, bytes, length, window, capacity, decode_carefully));
  if (whole.status == FURROW_OK && format->encode && separator < PLAIN) check_again(format, &context, &whole);
  record_list_clear(&whole);
  return 0;
}
