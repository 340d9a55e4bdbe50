/* tests/unit/model/test_matrix_formats.c: the formats of matrices: bytes to records and back, at every level of
 * instructions.
 */
#include <inttypes.h>
#include <math.h>

#include "base/java_number.h"
#include "base/rng.h"
#include "furrow/furrow.h"
#include "furrow/model.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/matrix_records.h"

enum { ANY = 1 << 20 };

static const furrow_matrix_format *format_of(const char *name) {
  const furrow_matrix_format *format = NULL;
  assert_int_equal(furrow_matrix_format_find(name, &format, NULL), FURROW_OK);
  return format;
}

static furrow_matrix_format_context context_of(const furrow_matrix_format *format, furrow_element_type type,
                                               int key_bits, const char *separator) {
  return (furrow_matrix_format_context){.type = type,
                                        .key_bits = key_bits,
                                        .separator = separator,
                                        .separator_length = strlen(separator),
                                        .record_values = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? 3 : 1,
                                        .first_col = 0,
                                        .end_col = 1000};
}

/* ---- Panels --------------------------------------------------------------------------------------------- */

typedef struct sample {
  furrow_panel panel;
  int32_t *row_ids;
  int64_t *col_ids;
  void *values;
} sample;

static double odd_double(fw_rng *rng) {
  static const double odd[] = {
      0.0,     -0.0,     INFINITY, -INFINITY, 1.0,          5e-324,  0x1p-1022, 1.7976931348623157e308,
      1e23,    2e23,     1e-5,     0.1,       123456789012, 9999999, 1e7,       0x1p63,
      1.0 / 3, -1.0 / 3, 1e-3,     0x1p24,    0x1p-149,     0.5,     100,       3.4028234663852886e38};
  const uint64_t kind = fw_rng_below(rng, 3);
  if (kind == 0) return odd[fw_rng_below(rng, sizeof odd / sizeof *odd)];
  if (kind == 1) return fw_rng_normal(rng);
  const uint64_t bits = fw_rng_next(rng);
  double value;
  memcpy(&value, &bits, sizeof value);
  return isnan(value) ? (double)NAN : value;
}

static void put_element(void *values, furrow_element_type type, size_t i, fw_rng *rng) {
  const int64_t integer = (int64_t)fw_rng_next(rng) >> fw_rng_below(rng, 64);
  switch (type) {
  case FURROW_ELEMENT_F64: ((double *)values)[i] = odd_double(rng); break;
  case FURROW_ELEMENT_F32: {
    const double value = odd_double(rng);
    ((float *)values)[i] = fabs(value) > 3e38 && isfinite(value) ? (float)1e38 : (float)value;
    break;
  }
  case FURROW_ELEMENT_I64: ((int64_t *)values)[i] = i == 0 ? INT64_MIN : i == 1 ? INT64_MAX : integer; break;
  default: ((int32_t *)values)[i] = i == 0 ? INT32_MIN : i == 1 ? INT32_MAX : (int32_t)integer; break;
  }
}

static sample make_sample(const furrow_matrix_format_context *context, size_t cols, bool ids, uint64_t seed) {
  sample s = {.row_ids = record_capacity(context->record_values, sizeof(int32_t)),
              .col_ids = record_capacity(cols, sizeof(int64_t)),
              .values = record_capacity(cols * context->record_values, fw_element_bytes(context->type))};
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t r = 0; r < context->record_values; r++) s.row_ids[r] = (int32_t)(7 * r + 3);
  for (size_t c = 0; c < cols; c++) {
    s.col_ids[c] = (int64_t)c * 5 - 11;
    if (context->key_bits == 64 && c % 3 == 0) s.col_ids[c] = (int64_t)fw_rng_next(&rng);
  }
  for (size_t i = 0; i < cols * context->record_values; i++) put_element(s.values, context->type, i, &rng);
  s.panel = (furrow_panel){.rows = context->record_values,
                           .row_ids = s.row_ids,
                           .cols = cols,
                           .col_ids = ids ? s.col_ids : NULL,
                           .first_col = 40,
                           .type = context->type,
                           .values = {s.values}};
  return s;
}

static void free_sample(sample *s) {
  free(s->row_ids);
  free(s->col_ids);
  free(s->values);
}

/* All of the panel, in two calls; the result is the caller's. */
static char *encode(const furrow_matrix_format *format, const furrow_matrix_format_context *context,
                    const furrow_panel *panel, size_t *size) {
  size_t least, most, head, tail;
  format->record_size(context, &least, &most);
  assert_true(least > 0 && least <= most);
  char *bytes = malloc(panel->cols * most + 1);
  assert_non_null(bytes);
  const size_t half = panel->cols / 2;
  assert_int_equal(format->encode(context, panel, 0, half, bytes, &head, NULL), FURROW_OK);
  assert_int_equal(format->encode(context, panel, half, panel->cols - half, bytes + head, &tail, NULL), FURROW_OK);
  *size = head + tail;
  assert_true(*size >= panel->cols * least && *size <= panel->cols * most);
  return bytes;
}

static void check_records(const furrow_matrix_format *format, const record_list *list, const furrow_panel *panel) {
  assert_int_equal(list->status, FURROW_OK);
  assert_int_equal(list->count, panel->cols);
  assert_memory_equal(list->elements, panel->values.any, panel->cols * panel->rows * list->element);
  for (size_t c = 0; c < panel->cols; c++) {
    if (format->flags & FURROW_MATRIX_FORMAT_COL_IDS) assert_int_equal(list->col_ids[c], furrow_panel_col(panel, c));
    if (format->flags & FURROW_MATRIX_FORMAT_ROW_IDS) assert_int_equal(list->row_ids[c], panel->row_ids[0]);
  }
}

static void check_round_trip(const furrow_matrix_format *format, const furrow_matrix_format_context *context, bool ids,
                             size_t cols) {
  sample s = make_sample(context, cols, ids, cols);
  size_t size;
  char *bytes = encode(format, context, &s.panel, &size);
  const size_t windows[] = {ANY, 997, 64}, capacities[] = {1000, 1, 7};
  for (size_t i = 0; i < 3; i++) {
    record_list list = decode_windows(format, context, bytes, size, windows[i], capacities[i], decode_by_format);
    check_records(format, &list, &s.panel);
    record_list_clear(&list);
  }
  free(bytes);
  free_sample(&s);
}

static const char *const separators[] = {",", "\t", " ", "|", "::", "\x01", ", ", "\xc3\xa4", "."};

static void test_round_trips(void **state) {
  (void)state;
  const furrow_matrix_format *format;
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL; i++) {
    if (!format->encode) continue;
    for (int type = 0; type < 4; type++)
      for (int key_bits = 32; key_bits <= 64; key_bits += 32)
        for (size_t s = 0; s < sizeof separators / sizeof *separators; s++) {
          if (s > 0 && !(format->flags & FURROW_MATRIX_FORMAT_TEXT)) break;
          furrow_matrix_format_context context = context_of(format, (furrow_element_type)type, key_bits, separators[s]);
          if (strcmp(separators[s], ".") == 0 && context.record_values > 1) continue; /* no one could tell */
          check_round_trip(format, &context, s % 2 == 0, 0);
          check_round_trip(format, &context, s % 2 == 0, 1);
          check_round_trip(format, &context, s % 2 == 0, 61);
          if (s == 0) check_round_trip(format, &context, true, 3000 / SLOW);
        }
  }
}

/* Records of many values: lines that are longer than any window. */
static void test_long_lines(void **state) {
  (void)state;
  for (int type = 0; type < 4; type++) {
    const furrow_matrix_format *format = &fw_text_column;
    furrow_matrix_format_context context = context_of(format, (furrow_element_type)type, 32, ",");
    for (size_t values = 1; values <= 3000; values = values * 3 + 1) {
      context.record_values = values;
      sample s = make_sample(&context, 9, true, values);
      size_t size;
      char *bytes = encode(format, &context, &s.panel, &size);
      for (size_t window = 3000; window < 20000; window += 7001) {
        record_list list = decode_windows(format, &context, bytes, size, window, 4, decode_by_format);
        check_records(format, &list, &s.panel);
        record_list_clear(&list);
      }
      free(bytes);
      free_sample(&s);
    }
  }
}

/* ---- Bytes by hand -------------------------------------------------------------------------------------- */

typedef struct vector {
  const char *format;
  furrow_element_type type;
  int key_bits;
  bool angel_bytes;
  const char *bytes;
  size_t size;
} vector;

#define BYTES(text) text, sizeof text - 1

/* Row 3, columns 5 and -6, values 1.5 and -2 (column formats: 1.5 and -2, 3 and 0.25, in rows 3 and 10). */
static const vector vectors[] = {
    {"ValueBinaryRowFormat", FURROW_ELEMENT_F32, 32, false, BYTES("\x3f\xc0\0\0\xc0\0\0\0")},
    {"ValueBinaryRowFormat", FURROW_ELEMENT_F64, 64, false, BYTES("\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0")},
    {"ValueBinaryRowFormat", FURROW_ELEMENT_I32, 32, false, BYTES("\0\0\0\1\xff\xff\xff\xfe")},
    {"ColIdValueBinaryRowFormat", FURROW_ELEMENT_F32, 32, false,
     BYTES("\0\0\0\5\x3f\xc0\0\0\xff\xff\xff\xfa\xc0\0\0\0")},
    {"ColIdValueBinaryRowFormat", FURROW_ELEMENT_I64, 64, false,
     BYTES("\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xfa\xff\xff\xff\xff\xff\xff\xff\xfe")},
    {"ColIdValueBinaryRowFormat", FURROW_ELEMENT_F32, 64, false,
     BYTES("\0\0\0\0\0\0\0\5\x3f\xc0\0\0\xff\xff\xff\xff\xff\xff\xff\xfa\xc0\0\0\0")},
    {"RowIdColIdValueBinaryRowFormat", FURROW_ELEMENT_F64, 32, false,
     BYTES("\0\0\0\3\0\0\0\5\x3f\xf8\0\0\0\0\0\0\0\0\0\3\xff\xff\xff\xfa\xc0\0\0\0\0\0\0\0")},
    {"BinaryColumnFormat", FURROW_ELEMENT_F32, 32, false,
     BYTES("\0\0\0\5\x3f\xc0\0\0\xc0\0\0\0\xff\xff\xff\xfa\x40\x40\0\0\x3e\x80\0\0")},
    {"ValueTextRowFormat", FURROW_ELEMENT_F32, 32, false, BYTES("1.5\n-2.0\n")},
    {"ValueTextRowFormat", FURROW_ELEMENT_I64, 32, false, BYTES("1\n-2\n")},
    {"ColIdValueTextRowFormat", FURROW_ELEMENT_F64, 32, false, BYTES("5,1.5\n-6,-2.0\n")},
    {"RowIdColIdValueTextRowFormat", FURROW_ELEMENT_F64, 32, false, BYTES("3,5,1.5\n3,-6,-2.0\n")},
    {"RowIdColIdValueTextRowFormat", FURROW_ELEMENT_F64, 32, true, BYTES("3,5,1.5\n3,-6,-2\n")},
    {"RowIdColIdValueTextRowFormat", FURROW_ELEMENT_F32, 64, true, BYTES("3,5,1.5\n3,-6,-2.0\n")},
    {"TextColumnFormat", FURROW_ELEMENT_F64, 64, true, BYTES("5,1.5,-2.0\n-6,3.0,0.25\n")},
    {"TextColumnFormat", FURROW_ELEMENT_I32, 64, true, BYTES("5,1,-2\n-6,3,0\n")},
};

static void test_bytes(void **state) {
  (void)state;
  static const double numbers[4] = {1.5, -2, 3, 0.25};
  static const int32_t row_ids[2] = {3, 10};
  static const int64_t col_ids[2] = {5, -6};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    const vector *v = &vectors[i];
    const furrow_matrix_format *format = format_of(v->format);
    furrow_matrix_format_context context = context_of(format, v->type, v->key_bits, ",");
    context.angel_bytes = v->angel_bytes;
    context.record_values = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? 2 : 1;
    double f64[4];
    float f32[4];
    int64_t i64[4];
    int32_t i32[4];
    for (size_t k = 0; k < 4; k++) {
      f64[k] = numbers[k];
      f32[k] = (float)numbers[k];
      i64[k] = (int64_t)numbers[k];
      i32[k] = (int32_t)numbers[k];
    }
    const void *const values[4] = {f64, f32, i64, i32};
    const furrow_panel panel = {.rows = context.record_values,
                                .row_ids = row_ids,
                                .cols = 2,
                                .col_ids = col_ids,
                                .type = v->type,
                                .values = {values[v->type]}};
    size_t size;
    char *bytes = encode(format, &context, &panel, &size);
    assert_int_equal(size, v->size);
    assert_memory_equal(bytes, v->bytes, v->size);
    for (size_t window = 1; window <= v->size; window++) { /* cut at every byte */
      record_list list = decode_windows(format, &context, v->bytes, v->size, window, 5, decode_by_format);
      check_records(format, &list, &panel);
      record_list_clear(&list);
    }
    free(bytes);
  }
}

static void test_full_digits(void **state) {
  (void)state;
  furrow_matrix_format_context context = context_of(&fw_row_id_col_id_value_text, FURROW_ELEMENT_F64, 32, ",");
  const double value[1] = {1.0 / 3};
  const int32_t row[1] = {0};
  const furrow_panel panel = {
      .rows = 1, .row_ids = row, .cols = 1, .first_col = 9, .type = FURROW_ELEMENT_F64, .values = {value}};
  char text[1024];
  size_t n;
  assert_int_equal(fw_row_id_col_id_value_text.encode(&context, &panel, 0, 1, text, &n, NULL), FURROW_OK);
  assert_int_equal(n, 23);
  assert_memory_equal(text, "0,9,0.3333333333333333\n", n);
  context.angel_bytes = true;
  assert_int_equal(fw_row_id_col_id_value_text.encode(&context, &panel, 0, 1, text, &n, NULL), FURROW_OK);
  assert_int_equal(n, 13);
  assert_memory_equal(text, "0,9,0.333333\n", n);
}

/* ---- Text that is taken --------------------------------------------------------------------------------- */

/* Three lines; the second one is `line`. Decodes it in all ways and checks that they agree. */
static record_list decode_line(const furrow_matrix_format *format, const furrow_matrix_format_context *context,
                               const char *line, size_t length) {
  static const char *const usual[] = {"5\n", "4,5\n", "1,4,5\n", "4,5,6,7\n"};
  const char *around = usual[(format->flags & FURROW_MATRIX_FORMAT_ROW_IDS)   ? 2
                             : context->record_values == 3                    ? 3
                             : (format->flags & FURROW_MATRIX_FORMAT_COL_IDS) ? 1
                                                                              : 0];
  char text[2048];
  const size_t n = strlen(around);
  memcpy(text, around, n);
  memcpy(text + n, line, length);
  memcpy(text + n + length, around, n);
  const size_t size = 2 * n + length;
  record_list list = decode_windows(format, context, text, size, ANY, 100, decode_by_format);
  record_list careful = decode_windows(format, context, text, size, ANY, 100, decode_carefully);
  assert_true(record_lists_equal(&list, &careful));
  record_list_clear(&careful);
  for (size_t window = 1; window <= size; window += 1 + window / 8) {
    record_list other = decode_windows(format, context, text, size, window, 2, decode_by_format);
    assert_true(record_lists_equal(&list, &other));
    record_list_clear(&other);
  }
  return list;
}

typedef struct taken {
  const char *text;
  double value;
} taken;

/* As Java's Double.parseDouble reads them. */
static const taken taken_values[] = {
    {"1", 1},
    {"+1", 1},
    {"-0", -0.0},
    {"1.", 1},
    {".5", .5},
    {"1e-3", 1e-3},
    {"1E+3", 1000},
    {" 2.5", 2.5},
    {"2.5 ", 2.5},
    {"\t 2.5\x1f ", 2.5},
    {"2.5f", 2.5},
    {"2.5F", 2.5},
    {"2.5d", 2.5},
    {"2.5D", 2.5},
    {"3f", 3},
    {"0x1p3", 8},
    {"0X1.8P1", 3},
    {"-0x.8p0f", -0.5},
    {"0x1p-1074", 5e-324},
    {"0x1p-1075", 0},
    {"0x1.8p-1075", 5e-324},
    {"0x1.00000000000008p0", 1},
    {"0x1.000000000000080000000000000000001p0", 0x1.0000000000001p0},
    {"0x1.00000000000018p0", 0x1.0000000000002p0},
    {"0x1p1024", INFINITY},
    {"0x1p99999999999999", INFINITY},
    {"0x1p-99999999999999", 0},
    {"0x0p0", 0},
    {"Infinity", INFINITY},
    {"-Infinity", -INFINITY},
    {"+Infinity", INFINITY},
    {"1e999", INFINITY},
    {"-1e999", -INFINITY},
    {"1e-999", 0},
    {"0.1000000000000000055511151231257827021181583404541015625", .1},
    {"0.1000000000000000055511151231257827021181583404541015625000000000000000000000000000000000", .1},
    {"123456789012345678901234567890", 123456789012345678901234567890.0},
    {"9007199254740993", 9007199254740992.0},
    {"00000000000000000000000000000000000000000000000000000000000000000000000007", 7},
};

static void test_values_taken(void **state) {
  (void)state;
  const furrow_matrix_format *const formats[] = {&fw_value_text, &fw_col_id_value_text, &fw_row_id_col_id_value_text};
  static const char *const lead[] = {"", "7,", "2,7,"};
  for (size_t i = 0; i < sizeof taken_values / sizeof *taken_values; i++)
    for (size_t k = 0; k < 3; k++)
      for (int type = FURROW_ELEMENT_F64; type <= FURROW_ELEMENT_F32; type++) {
        char line[256];
        const int n = snprintf(line, sizeof line, "%s%s\n", lead[k], taken_values[i].text);
        const furrow_matrix_format_context context = context_of(formats[k], (furrow_element_type)type, 32, ",");
        record_list list = decode_line(formats[k], &context, line, (size_t)n);
        if (list.status != FURROW_OK) fail_msg("%s: %s", taken_values[i].text, list.err.message);
        assert_int_equal(list.count, 3);
        if (type == FURROW_ELEMENT_F64) {
          assert_memory_equal(list.elements + 8, &taken_values[i].value, 8);
        } else if (!strchr(taken_values[i].text, 'x')) { /* rounded once, not twice */
          const float value = strtof(taken_values[i].text, NULL);
          assert_memory_equal(list.elements + 4, &value, 4);
        }
        record_list_clear(&list);
      }
}

static void test_hex_floats(void **state) {
  (void)state;
  static const taken hex[] = {{"0x1.000001p0", 1},
                              {"0x1.0000011p0", 0x1.000002p0},
                              {"0x1.000003p0", 0x1.000004p0},
                              {"0x1.fffffefp127", 0x1.fffffep127},
                              {"0x1.ffffffp127", INFINITY},
                              {"0x1p-150", 0},
                              {"0x1.000001p-150", 0x1p-149},
                              {"0x1p-149", 0x1p-149}};
  for (size_t i = 0; i < sizeof hex / sizeof *hex; i++) {
    char line[64];
    const int n = snprintf(line, sizeof line, "%s\n", hex[i].text);
    const furrow_matrix_format_context context = context_of(&fw_value_text, FURROW_ELEMENT_F32, 32, ",");
    record_list list = decode_line(&fw_value_text, &context, line, (size_t)n);
    assert_int_equal(list.status, FURROW_OK);
    const float value = (float)hex[i].value;
    assert_memory_equal(list.elements + 4, &value, 4);
    record_list_clear(&list);
  }
}

static void test_nan(void **state) {
  (void)state;
  static const char *const nans[] = {"NaN\n", "-NaN\n", " NaN \r\n"};
  for (size_t i = 0; i < 3; i++)
    for (int type = FURROW_ELEMENT_F64; type <= FURROW_ELEMENT_F32; type++) {
      const furrow_matrix_format_context context = context_of(&fw_value_text, (furrow_element_type)type, 32, ",");
      record_list list = decode_line(&fw_value_text, &context, nans[i], strlen(nans[i]));
      assert_int_equal(list.status, FURROW_OK);
      const furrow_elements elements = {list.elements};
      assert_true(isnan(furrow_elements_get(elements, (furrow_element_type)type, 1)));
      record_list_clear(&list);
    }
}

/* The bytes of DecimalFormat are words of doubles with row ids alone. */
static void test_decimal_words(void **state) {
  (void)state;
  static const taken words[] = {{"1,2,\x1e\n", INFINITY}, {"1,2,-\x1e\n", -INFINITY}, {"1,2,\xfd\n", NAN}};
  for (size_t i = 0; i < 3; i++) {
    furrow_matrix_format_context context = context_of(&fw_row_id_col_id_value_text, FURROW_ELEMENT_F64, 32, ",");
    const size_t n = strlen(words[i].text);
    record_list list = decode_line(&fw_row_id_col_id_value_text, &context, words[i].text, n);
    assert_int_equal(list.status, FURROW_OK);
    const double value = ((const double *)list.elements)[1];
    assert_true(isnan(words[i].value) ? isnan(value) : value == words[i].value);
    record_list_clear(&list);
    context.type = FURROW_ELEMENT_F32;
    list = decode_line(&fw_row_id_col_id_value_text, &context, words[i].text, n);
    assert_int_equal(list.status, FURROW_E_PARSE);
    record_list_clear(&list);
    context.type = FURROW_ELEMENT_F64;
    list = decode_line(&fw_col_id_value_text, &context, words[i].text + 2, n - 2);
    assert_int_equal(list.status, FURROW_E_PARSE);
    record_list_clear(&list);
  }
}

static void test_line_ends(void **state) {
  (void)state;
  static const char *const texts[] = {"1,2\n3,4\n", "1,2\r\n3,4\r\n", "1,2\r3,4\r",
                                      "1,2\n3,4",   "1,2\r\n3,4",     "1,2\r3,4\n"};
  const furrow_matrix_format_context context = context_of(&fw_col_id_value_text, FURROW_ELEMENT_I32, 64, ",");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (size_t window = 1; window < 12; window++) {
      record_list list =
          decode_windows(&fw_col_id_value_text, &context, texts[i], strlen(texts[i]), window, 9, decode_by_format);
      assert_int_equal(list.status, FURROW_OK);
      assert_int_equal(list.count, 2);
      assert_int_equal(list.col_ids[1], 3);
      assert_int_equal(((const int32_t *)list.elements)[1], 4);
      record_list_clear(&list);
    }
}

/* ---- Text that is refused ------------------------------------------------------------------------------- */

typedef struct refused {
  const char *format;
  furrow_element_type type;
  int key_bits;
  const char *line;
  furrow_status status;
  size_t offset; /* in the line */
  const char *token, *message;
} refused;

static const refused refusals[] = {
    {"ValueText", FURROW_ELEMENT_F32, 32, "\n", FURROW_E_PARSE, 0, "", "the line is empty"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "\r\n", FURROW_E_PARSE, 0, "", "the line is empty"},
    {"ValueText", FURROW_ELEMENT_F32, 32, " \n", FURROW_E_PARSE, 0, " ", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "inf\n", FURROW_E_PARSE, 0, "inf", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F64, 32, "-inf\n", FURROW_E_PARSE, 0, "-inf", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "nan\n", FURROW_E_PARSE, 0, "nan", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F64, 32, "nan(1)\n", FURROW_E_PARSE, 0, "nan(1)", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "infinity\n", FURROW_E_PARSE, 0, "infinity", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "1e\n", FURROW_E_PARSE, 0, "1e", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "--1\n", FURROW_E_PARSE, 0, "--1", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "1ff\n", FURROW_E_PARSE, 0, "1ff", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "NaNf\n", FURROW_E_PARSE, 0, "NaNf", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "0x1\n", FURROW_E_PARSE, 0, "0x1", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "0xp1\n", FURROW_E_PARSE, 0, "0xp1", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "0x1p\n", FURROW_E_PARSE, 0, "0x1p", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, ".\n", FURROW_E_PARSE, 0, ".", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_F32, 32, "1,5\n", FURROW_E_PARSE, 0, "1,5", "value is not a number"},
    {"ValueText", FURROW_ELEMENT_I32, 32, "1.0\n", FURROW_E_PARSE, 0, "1.0", "value is not a 32-bit integer"},
    {"ValueText", FURROW_ELEMENT_I64, 32, " 1\n", FURROW_E_PARSE, 0, " 1", "value is not a 64-bit integer"},
    {"ValueText", FURROW_ELEMENT_I64, 32, "-\n", FURROW_E_PARSE, 0, "-", "value is not a 64-bit integer"},
    {"ValueText", FURROW_ELEMENT_I32, 32, "2147483648\n", FURROW_E_RANGE, 0, "2147483648",
     "value does not fit a 32-bit integer"},
    {"ValueText", FURROW_ELEMENT_I64, 32, "-9223372036854775809\n", FURROW_E_RANGE, 0, "-9223372036854775809",
     "value does not fit a 64-bit integer"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, "7\n", FURROW_E_PARSE, 0, "7", "the line has 1 field, expected are 2"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, "7;2\n", FURROW_E_PARSE, 0, "7;2",
     "the line has 1 field, expected are 2"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, "7,\n", FURROW_E_PARSE, 2, "", "value is empty"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, ",7\n", FURROW_E_PARSE, 0, "", "column id is empty"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, " 7,1\n", FURROW_E_PARSE, 0, " 7", "column id is not a 32-bit integer"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 64, "7x,1\n", FURROW_E_PARSE, 0, "7x", "column id is not a 64-bit integer"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 64, "7.0,1\n", FURROW_E_PARSE, 0, "7.0",
     "column id is not a 64-bit integer"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, "2147483648,1\n", FURROW_E_RANGE, 0, "2147483648",
     "column id does not fit a 32-bit integer"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 64, "9223372036854775808,1\n", FURROW_E_RANGE, 0, "9223372036854775808",
     "column id does not fit a 64-bit integer"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, "7,1,2\n", FURROW_E_PARSE, 0, "7,1,2",
     "the line has 3 fields, expected are 2"},
    {"ColIdValueText", FURROW_ELEMENT_F32, 32, "7,x\n", FURROW_E_PARSE, 2, "x", "value is not a number"},
    {"RowIdColIdValueText", FURROW_ELEMENT_F32, 64, "4294967296,1,1\n", FURROW_E_RANGE, 0, "4294967296",
     "row id does not fit a 32-bit integer"},
    {"RowIdColIdValueText", FURROW_ELEMENT_F32, 64, "2147483648,1,1\n", FURROW_E_RANGE, 0, "2147483648",
     "row id does not fit a 32-bit integer"},
    {"RowIdColIdValueText", FURROW_ELEMENT_F32, 32, "1,2\n", FURROW_E_PARSE, 0, "1,2",
     "the line has 2 fields, expected are 3"},
    {"RowIdColIdValueText", FURROW_ELEMENT_F32, 32, "1,,2\n", FURROW_E_PARSE, 2, "", "column id is empty"},
    {"RowIdColIdValueText", FURROW_ELEMENT_F32, 32, "r,1,2\n", FURROW_E_PARSE, 0, "r",
     "row id is not a 32-bit integer"},
    {"TextColumn", FURROW_ELEMENT_F32, 32, "1,2,3\n", FURROW_E_PARSE, 0, "1,2,3",
     "the line has 3 fields, expected are 4"},
    {"TextColumn", FURROW_ELEMENT_F32, 32, "1,2,3,4,5\n", FURROW_E_PARSE, 0, "1,2,3,4,5",
     "the line has 5 fields, expected are 4"},
    {"TextColumn", FURROW_ELEMENT_F32, 32, "1,2,,4\n", FURROW_E_PARSE, 4, "", "value is empty"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const refused *r = &refusals[i];
    const furrow_matrix_format *format = format_of(r->format);
    const furrow_matrix_format_context context = context_of(format, r->type, r->key_bits, ",");
    record_list list = decode_line(format, &context, r->line, strlen(r->line));
    const size_t before = format == &fw_value_text          ? 2
                          : format == &fw_col_id_value_text ? 4
                          : format == &fw_text_column       ? 8
                                                            : 6;
    assert_int_equal(list.status, r->status);
    assert_string_equal(list.err.message, r->message);
    assert_string_equal(list.err.token, r->token);
    assert_int_equal(list.err.offset, before + r->offset);
    record_list_clear(&list);
  }
}

/* Other programs write more digits than are needed, up to a limit. */
static void test_long_values(void **state) {
  (void)state;
  const furrow_matrix_format_context context = context_of(&fw_value_text, FURROW_ELEMENT_F64, 32, ",");
  static const size_t lengths[] = {398, 399, 400, 401, 500, 5000, 100000, FW_TEXT_SURPLUS + 400};
  char *text = malloc(FW_TEXT_SURPLUS + 1000);
  assert_non_null(text);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const size_t length = lengths[i];
    memset(text, '0', length);
    memcpy(text, "0.5", 3);
    text[length] = '\n';
    memcpy(text + length + 1, "7\n", 2);
    for (size_t window = length / 4; window <= 2 * length; window += length / 3) {
      record_list list = decode_windows(&fw_value_text, &context, text, length + 3, window, 5, decode_by_format);
      assert_int_equal(list.status, FURROW_OK);
      assert_int_equal(list.count, 2);
      assert_true(((const double *)(void *)list.elements)[0] == 0.5 && ((const double *)(void *)list.elements)[1] == 7);
      record_list_clear(&list);
    }
  }
  free(text);
}

static void test_too_long(void **state) {
  (void)state;
  const furrow_matrix_format_context context = context_of(&fw_value_text, FURROW_ELEMENT_F64, 32, ",");
  const size_t length = FW_TEXT_SURPLUS + 401;
  char *text = malloc(length + 1);
  assert_non_null(text);
  memset(text, '1', length);
  text[length] = '\n';
  for (size_t ending = 0; ending < 2; ending++) {
    record_list list = decode_windows(&fw_value_text, &context, text, length + ending, 1 << 18, 5, decode_by_format);
    assert_int_equal(list.status, FURROW_E_PARSE);
    assert_string_equal(list.err.message, "the line is longer than 1048976 bytes");
    record_list_clear(&list);
  }
  free(text);
}

static void test_separators_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"", "\n", ",\r"};
  for (size_t i = 0; i < 3; i++) {
    const furrow_matrix_format_context context = context_of(&fw_col_id_value_text, FURROW_ELEMENT_F32, 32, bad[i]);
    record_list list = decode_windows(&fw_col_id_value_text, &context, "1,2\n", 4, 9, 9, decode_by_format);
    assert_int_equal(list.status, FURROW_E_ARGUMENT);
    record_list_clear(&list);
  }
}

/* ---- The fast way and the careful one ------------------------------------------------------------------- */

/* A text that is mostly usual, with something odd here and there. */
static size_t odd_text(fw_rng *rng, const furrow_matrix_format *format, size_t values, char *out, size_t lines,
                       unsigned rare) {
  static const char *const odd[] = {"",      " ",   "-",           "NaN", "Infinity", "1e5",
                                    "+3",    "\r",  "\r\n",        "x",   ",",        "1.5f",
                                    "0x1p2", "inf", "99999999999", "-7",  "1e-300",   "0.1234567890123456789"};
  char *const start = out;
  const size_t fields = (format->flags & FURROW_MATRIX_FORMAT_ROW_IDS ? 1 : 0) +
                        (format->flags & FURROW_MATRIX_FORMAT_COL_IDS ? 1 : 0) + values;
  for (size_t i = 0; i < lines; i++) {
    for (size_t f = 0; f < fields; f++) {
      if (f) *out++ = ',';
      if (fw_rng_below(rng, rare) == 0)
        out += sprintf(out, "%s", odd[fw_rng_below(rng, sizeof odd / sizeof *odd)]);
      else if (f + values < fields)
        out += sprintf(out, "%" PRIu64, fw_rng_below(rng, 1000000) >> fw_rng_below(rng, 20));
      else if (fw_rng_below(rng, 2))
        out += sprintf(out, "%.*g", (int)fw_rng_below(rng, 18) + 1, fw_rng_normal(rng));
      else
        out += sprintf(out, "%" PRId64, (int64_t)(fw_rng_next(rng) >> (1 + fw_rng_below(rng, 63))));
    }
    *out++ = '\n';
  }
  return (size_t)(out - start);
}

static void test_fast_is_careful(void **state) {
  (void)state;
  static const char *const names[] = {"ValueText", "ColIdValueText", "RowIdColIdValueText", "TextColumn"};
  static char text[400000];
  fw_rng rng;
  fw_rng_init(&rng, 11);
  for (size_t round = 0; round < 1200 / SLOW; round++) {
    const furrow_matrix_format *format = format_of(names[round % 4]);
    furrow_matrix_format_context context =
        context_of(format, (furrow_element_type)(round / 4 % 4), round % 3 ? 32 : 64, ",");
    if (round % 4 == 3) context.record_values = 1 + fw_rng_below(&rng, 40);
    const unsigned rare = 1u << fw_rng_below(&rng, 16);
    const size_t size = odd_text(&rng, format, context.record_values, text, 1 + fw_rng_below(&rng, 200), rare + 1);
    record_list careful = decode_windows(format, &context, text, size, ANY, 1000, decode_carefully);
    record_list fast = decode_windows(format, &context, text, size, 1 + fw_rng_below(&rng, 2 * size),
                                      1 + fw_rng_below(&rng, 300), decode_by_format);
    assert_true(record_lists_equal(&careful, &fast));
    record_list_clear(&careful);
    record_list_clear(&fast);
  }
}

/* ---- Binary that is refused ----------------------------------------------------------------------------- */

static void test_cut_records(void **state) {
  (void)state;
  static const char *const names[] = {"ValueBinary", "ColIdValueBinary", "RowIdColIdValueBinary", "BinaryColumn"};
  const char bytes[200] = {0};
  for (size_t i = 0; i < 4; i++) {
    const furrow_matrix_format *format = format_of(names[i]);
    const furrow_matrix_format_context context = context_of(format, FURROW_ELEMENT_F64, 64, ",");
    size_t least, most;
    format->record_size(&context, &least, &most);
    assert_int_equal(least, most);
    for (size_t size = 2 * least; size <= 3 * least; size++) {
      record_list list = decode_windows(format, &context, bytes, size, 7, 9, decode_by_format);
      assert_int_equal(list.status, size % least ? FURROW_E_FORMAT : FURROW_OK);
      if (size % least) assert_int_equal(list.err.offset, 2 * least);
      record_list_clear(&list);
    }
  }
}

/* Ids that differ in few digits or in all, about all powers of ten and both ends, after each other in any order. */
static void test_column_ids(void **state) {
  (void)state;
  enum { IDS = 3000 };
  const furrow_matrix_format *format = format_of("RowIdColIdValueTextRowFormat");
  const furrow_matrix_format_context context = context_of(format, FURROW_ELEMENT_I32, 64, ",");
  static int64_t ids[IDS];
  static int32_t values[IDS];
  const int32_t row_id = INT32_MIN;
  fw_rng rng;
  fw_rng_init(&rng, 11);
  for (size_t i = 0; i < IDS; i++) {
    int64_t power = 1;
    for (uint64_t k = fw_rng_below(&rng, 19); k > 0; k--) power *= 10;
    const int64_t near = power - 3 + (int64_t)fw_rng_below(&rng, 6);
    const int64_t next = i > 0 && ids[i - 1] < INT64_MAX ? ids[i - 1] + 1 : INT64_MIN;
    const int64_t ends[] = {near, -near, next, next, (int64_t)fw_rng_next(&rng), INT64_MAX, INT64_MIN};
    ids[i] = ends[fw_rng_below(&rng, sizeof ends / sizeof *ends)];
    values[i] = (int32_t)fw_rng_next(&rng) >> fw_rng_below(&rng, 32);
  }
  const furrow_panel panel = {
      .rows = 1, .row_ids = &row_id, .cols = IDS, .col_ids = ids, .type = FURROW_ELEMENT_I32, .values = {values}};
  size_t size, at = 0;
  char *bytes = encode(format, &context, &panel, &size), line[80];
  for (size_t i = 0; i < IDS; i++) {
    const int n = snprintf(line, sizeof line, "-2147483648,%" PRId64 ",%" PRId32 "\n", ids[i], values[i]);
    assert_true(at + (size_t)n <= size);
    assert_memory_equal(bytes + at, line, (size_t)n);
    at += (size_t)n;
  }
  assert_int_equal(at, size);
  free(bytes);
}

static void test_keys_that_do_not_fit(void **state) {
  (void)state;
  const int64_t far[2] = {3, INT64_C(1) << 31};
  const double values[6] = {0};
  const int32_t rows[3] = {0, 1, 2};
  char out[8192];
  size_t n = 77;
  const furrow_matrix_format *format;
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL; i++) {
    if (!format->encode || !(format->flags & FURROW_MATRIX_FORMAT_COL_IDS)) continue;
    furrow_matrix_format_context context = context_of(format, FURROW_ELEMENT_F64, 32, ",");
    furrow_panel panel = {.rows = context.record_values,
                          .row_ids = rows,
                          .cols = 2,
                          .col_ids = far,
                          .type = FURROW_ELEMENT_F64,
                          .values = {values}};
    assert_int_equal(format->encode(&context, &panel, 0, 2, out, &n, NULL), FURROW_E_RANGE);
    assert_int_equal(n, 77);
    panel.col_ids = NULL;
    panel.first_col = INT32_MAX;
    assert_int_equal(format->encode(&context, &panel, 0, 2, out, &n, NULL), FURROW_E_RANGE);
    assert_int_equal(format->encode(&context, &panel, 0, 1, out, &n, NULL), FURROW_OK);
    n = 77;
    context.key_bits = 64;
    assert_int_equal(format->encode(&context, &panel, 0, 2, out, &n, NULL), FURROW_OK);
    n = 77;
  }
}

/* ---- Those that are only read --------------------------------------------------------------------------- */

static void test_snapshot(void **state) {
  (void)state;
  static const char dense[] = "\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0";
  static const char sparse[] = "\0\0\0\x09\x3f\x80\0\0\0\0\0\x02\x40\0\0\0";
  furrow_matrix_format_context context = context_of(&fw_snapshot, FURROW_ELEMENT_F32, 32, ",");
  context.first_col = 100;
  for (size_t window = 1; window < 20; window++) {
    context.save_type = 0;
    record_list list = decode_windows(&fw_snapshot, &context, dense, sizeof dense - 1, window, 2, decode_by_format);
    assert_int_equal(list.status, FURROW_OK);
    assert_int_equal(list.count, 3);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(list.col_ids[i], 100 + i);
      assert_true(((const float *)list.elements)[i] == (float)(i + 1));
    }
    record_list_clear(&list);
    context.save_type = 1;
    list = decode_windows(&fw_snapshot, &context, sparse, sizeof sparse - 1, window, 2, decode_by_format);
    assert_int_equal(list.status, FURROW_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.col_ids[0], 9);
    assert_int_equal(list.col_ids[1], 2);
    record_list_clear(&list);
  }
  context.save_type = 2;
  record_list list = decode_windows(&fw_snapshot, &context, dense, sizeof dense - 1, 99, 2, decode_by_format);
  assert_int_equal(list.status, FURROW_E_FORMAT);
  record_list_clear(&list);
  assert_null(fw_snapshot.encode);
}

static record_list decode_angel1(const char *bytes, size_t size, bool dense, int key_bits, size_t window,
                                 size_t capacity) {
  furrow_matrix_format_context context = context_of(&fw_angel1, FURROW_ELEMENT_F32, key_bits, ",");
  context.dense = dense;
  context.first_col = 10;
  context.end_col = 12;
  return decode_windows(&fw_angel1, &context, bytes, size, window, capacity, decode_by_format);
}

/* Rows 4 and 6: 1, 2 and 3, 4 in columns 10 and 11. */
static const char angel1_dense[] = "\0\0\0\2\0\0\0\4\x3f\x80\0\0\x40\0\0\0\0\0\0\6\x40\x40\0\0\x40\x80\0\0";
/* Row 4 has 1 in column 11, row 5 nothing, row 6 3 and 4 in 10 and 11. */
static const char angel1_sparse[] = "\0\0\0\3\0\0\0\4\0\0\0\1\0\0\0\x0b\x3f\x80\0\0\0\0\0\5\0\0\0\0\0\0\0\6\0\0\0\2\0\0"
                                    "\0\x0a\x40\x40\0\0\0\0\0\x0b\x40\x80\0\0";

static void test_angel1(void **state) {
  (void)state;
  for (size_t window = 1; window < 50; window++)
    for (size_t capacity = 1; capacity < 5; capacity++) {
      record_list list = decode_angel1(angel1_dense, sizeof angel1_dense - 1, true, 32, window, capacity);
      assert_int_equal(list.status, FURROW_OK);
      assert_int_equal(list.count, 4);
      for (int i = 0; i < 4; i++) {
        assert_int_equal(list.row_ids[i], i < 2 ? 4 : 6);
        assert_int_equal(list.col_ids[i], 10 + i % 2);
        assert_true(((const float *)list.elements)[i] == (float)(i + 1));
      }
      record_list_clear(&list);
      list = decode_angel1(angel1_sparse, sizeof angel1_sparse - 1, false, 32, window, capacity);
      assert_int_equal(list.status, FURROW_OK);
      assert_int_equal(list.count, 3);
      static const int32_t rows[3] = {4, 6, 6};
      static const int64_t cols[3] = {11, 10, 11};
      assert_memory_equal(list.row_ids, rows, sizeof rows);
      assert_memory_equal(list.col_ids, cols, sizeof cols);
      record_list_clear(&list);
    }
}

/* Cut anywhere, or with something behind it, it is refused, whatever the windows. */
static void test_angel1_refused(void **state) {
  (void)state;
  for (size_t size = 1; size < sizeof angel1_sparse - 1; size++)
    for (size_t window = 1; window < 50; window += 5)
      for (size_t capacity = 1; capacity < 5; capacity++) {
        record_list list = decode_angel1(angel1_sparse, size, false, 32, window, capacity);
        assert_int_equal(list.status, FURROW_E_FORMAT);
        record_list_clear(&list);
        if (size >= sizeof angel1_dense - 1) continue;
        list = decode_angel1(angel1_dense, size, true, 32, window, capacity);
        assert_int_equal(list.status, FURROW_E_FORMAT);
        record_list_clear(&list);
      }
  static const char *const bad[] = {"\0\0\0\0\0", "\xff\xff\xff\xff\0\0\0\0", "\0\0\0\1\0\0\0\1\xff\xff\xff\xff"};
  static const size_t sizes[] = {5, 8, 12}, offsets[] = {4, 0, 8};
  for (size_t i = 0; i < 3; i++) {
    record_list list = decode_angel1(bad[i], sizes[i], false, 32, 3, 2);
    assert_int_equal(list.status, FURROW_E_FORMAT);
    assert_int_equal(list.err.offset, offsets[i]);
    record_list_clear(&list);
  }
  record_list empty = decode_angel1("\0\0\0\0", 4, false, 32, 3, 2);
  assert_int_equal(empty.status, FURROW_OK);
  assert_int_equal(empty.count, 0);
  record_list_clear(&empty);
}

/* A dense partition without columns has rows without elements; one that ends before it begins is refused. */
static void test_angel1_widths(void **state) {
  (void)state;
  furrow_matrix_format_context context = context_of(&fw_angel1, FURROW_ELEMENT_F32, 32, ",");
  context.dense = true;
  context.first_col = context.end_col = 10;
  record_list list = decode_windows(&fw_angel1, &context, "\0\0\0\1\0\0\0\4", 8, 8, 2, decode_by_format);
  assert_int_equal(list.status, FURROW_OK);
  assert_int_equal(list.count, 0);
  record_list_clear(&list);
  context.end_col = 9;
  list = decode_windows(&fw_angel1, &context, "\0\0\0\1\0\0\0\4", 8, 8, 2, decode_by_format);
  assert_int_equal(list.status, FURROW_E_FORMAT);
  assert_string_equal(list.err.message, "the partition ends before it begins");
  record_list_clear(&list);
  context.dense = false; /* sparse rows say how many elements they have */
  list = decode_windows(&fw_angel1, &context, angel1_sparse, sizeof angel1_sparse - 1, 50, 5, decode_by_format);
  assert_int_equal(list.status, FURROW_OK);
  assert_int_equal(list.count, 3);
  record_list_clear(&list);
}

/* A rest of a record is an error when all records before it are taken, not earlier. */
static void test_rest_of_a_record(void **state) {
  (void)state;
  static const char bytes[] = "\0\0\0\1\x3f\x80\0\0\0\0\0\2\x40\0\0\0\0\0";
  uint64_t words[4] = {0};
  int64_t cols[2];
  float values[2];
  furrow_error err = {0};
  furrow_matrix_format_context context = context_of(&fw_col_id_value_binary, FURROW_ELEMENT_F32, 32, ",");
  furrow_matrix_records records = {.capacity = 1, .col_ids = cols, .values = values};
  size_t used = 0;
  context.state = words;
  assert_int_equal(fw_col_id_value_binary.decode(&context, bytes, 18, true, &used, &records, &err), FURROW_OK);
  assert_int_equal(records.count, 1);
  assert_int_equal(used, 8);
  assert_int_equal(cols[0], 1);
  records.count = 0;
  records.capacity = 2;
  assert_int_equal(fw_col_id_value_binary.decode(&context, bytes, 18, true, &used, &records, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the last record has 2 of 8 bytes");
  assert_int_equal(err.offset, 16);
}

/* A field too many here and one too few there: as many fields as there should be, but not in their lines. */
static void test_fields_of_other_lines(void **state) {
  (void)state;
  static char text[2048];
  for (int before = 0; before < 80; before += 13) {
    size_t size = 0;
    for (int i = 0; i < before; i++) size += (size_t)snprintf(text + size, sizeof text - size, "%d,5\n", i);
    const size_t wrong = size;
    size += (size_t)snprintf(text + size, sizeof text - size, "1,2,3\n4\n");
    for (int i = 0; i < 150; i++) size += (size_t)snprintf(text + size, sizeof text - size, "%d,5\n", i);
    furrow_matrix_format_context context = context_of(&fw_col_id_value_text, FURROW_ELEMENT_F32, 32, ",");
    record_list list = decode_windows(&fw_col_id_value_text, &context, text, size, size, 400, decode_by_format);
    assert_int_equal(list.status, FURROW_E_PARSE);
    assert_in_range(list.err.offset, wrong, wrong + 8);
    record_list_clear(&list);
  }
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_full_digits),
      cmocka_unit_test(test_values_taken),
      cmocka_unit_test(test_hex_floats),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_decimal_words),
      cmocka_unit_test(test_line_ends),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_long_values),
      cmocka_unit_test(test_too_long),
      cmocka_unit_test(test_separators_refused),
      cmocka_unit_test(test_fast_is_careful),
      cmocka_unit_test(test_cut_records),
      cmocka_unit_test(test_column_ids),
      cmocka_unit_test(test_keys_that_do_not_fit),
      cmocka_unit_test(test_snapshot),
      cmocka_unit_test(test_angel1),
      cmocka_unit_test(test_angel1_refused),
      cmocka_unit_test(test_angel1_widths),
      cmocka_unit_test(test_rest_of_a_record),
      cmocka_unit_test(test_fields_of_other_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(run_all);
}
