/* tests/unit/io/test_recordio.c: RecordIO in parts and pieces, in order, cut short and damaged. */
#include "io/recordio.h"

#include <stdlib.h>
#include <string.h>

#include "io/split.h"
#include "io/stream.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* ---- Files -------------------------------------------------------------------------------------------------- */

typedef struct sample {
  char bytes[60000], lines[60000];
  size_t size, text;              /* of the file, and of its lines */
  size_t heads[700], begins[701]; /* where a record, and its line, begin */
  size_t count;
} sample;

static void add_part(sample *s, unsigned kind, const char *bytes, size_t length) {
  const uint32_t word = kind << 29 | (uint32_t)length;
  memcpy(s->bytes + s->size, FW_RECORDIO_MAGIC, 4);
  for (int i = 0; i < 4; i++) s->bytes[s->size + 4 + (size_t)i] = (char)(word >> 8 * i);
  memcpy(s->bytes + s->size + 8, bytes, length);
  s->size += 8 + (length + 3) / 4 * 4;
}

/* Records as dmlc-core writes them: split where the magic number is at a multiple of four. */
static void add_record(sample *s, const char *bytes, size_t length) {
  size_t begin = 0;
  s->heads[s->count] = s->size;
  s->begins[s->count++] = s->text;
  for (size_t at = 0; at + 4 <= length; at += 4) {
    if (memcmp(bytes + at, FW_RECORDIO_MAGIC, 4) != 0) continue;
    add_part(s, begin ? 2 : 1, bytes + begin, at - begin);
    begin = at + 4;
  }
  add_part(s, begin ? 3 : 0, bytes + begin, length - begin);
  memcpy(s->lines + s->text, bytes, length);
  s->text += length;
  s->lines[s->text++] = '\n';
  s->begins[s->count] = s->text;
}

static sample *make_sample(size_t count, uint32_t seed) {
  sample *s = calloc(1, sizeof *s);
  assert_non_null(s);
  while (s->count < count) {
    char line[80];
    const size_t length = 1 + (seed = seed * 1664525 + 1013904223) % 60;
    for (size_t i = 0; i < length; i++) line[i] = (char)('a' + (seed = seed * 1664525 + 1013904223) % 26);
    if (seed % 5 == 0 && length > 16) memcpy(line + seed / 7 % 3 * 4, FW_RECORDIO_MAGIC, 4);
    if (seed % 15 == 0 && length > 16) memcpy(line + 12, FW_RECORDIO_MAGIC, 4);
    add_record(s, line, length);
  }
  return s;
}

static char *const path[] = {(char *)"file.rec"};

static void put(const void *bytes, size_t size) {
  remove(path[0]);
  assert_true(test_write_file(path[0], bytes, size));
}

/* ---- Parts -------------------------------------------------------------------------------------------------- */

/* Reads a part; blank lines are left out, because heads and padding become such. */
static size_t read_part(uint32_t part, uint32_t parts, size_t piece, char *lines) {
  fw_fileset set;
  fw_split *split;
  fw_text text = {0};
  size_t size = 0;
  assert_int_equal(fw_fileset_open(&set, path, 1, NULL), FURROW_OK);
  assert_int_equal(set.files[0].kind, FW_FILE_RECORDIO);
  assert_int_equal(fw_split_open(&split, &set, part, parts, piece, 1 << 20, NULL), FURROW_OK);
  while (fw_split_claim(split, &text, NULL) == FURROW_OK) {
    furrow_error err;
    if (fw_split_read(split, &text, &err) != FURROW_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < text.length; i++) {
      const bool blank = text.lines[i] == '\n' && (i == 0 || text.lines[i - 1] == '\n');
      if (!blank) lines[size++] = text.lines[i];
    }
    if (text.length > 0) assert_int_equal(text.lines[text.length - 1], '\n');
  }
  fw_text_clear(&text);
  fw_split_close(split);
  fw_fileset_clear(&set);
  return size;
}

/* The rule of dmlc-core: steps of equal length, a multiple of four; a record belongs to the step that it begins in. */
static void every_part_has_the_records_of_its_range(void **state) {
  (void)state;
  static const size_t pieces[] = {16, 100, 4096, 1 << 20};
  sample *s = make_sample(300, 1);
  char *found = malloc(s->text + 1), *expected = malloc(s->text + 1);
  assert_non_null(found);
  assert_non_null(expected);
  put(s->bytes, s->size);
  for (uint32_t parts = 1; parts < 40; parts += parts < 8 ? 1 : 7) {
    const size_t step = ((s->size + parts - 1) / parts + 3) / 4 * 4;
    for (uint32_t part = 0; part < parts; part++) {
      size_t wanted = 0, at = 0;
      for (size_t i = 0; i < s->count; i++) {
        if (s->heads[i] / step != part) continue;
        for (size_t k = s->begins[i]; k < s->begins[i + 1]; k++)
          if (s->lines[k] != '\n' || (wanted > 0 && expected[wanted - 1] != '\n')) expected[wanted++] = s->lines[k];
      }
      at = read_part(part, parts, pieces[(part + parts) % 4], found);
      assert_int_equal(at, wanted);
      assert_memory_equal(found, expected, wanted);
    }
  }
  free(expected);
  free(found);
  free(s);
}

static furrow_status read_in_order(size_t piece, char *lines, size_t *size, furrow_error *err) {
  const fw_file file = {.path = path[0], .kind = FW_FILE_RECORDIO};
  fw_stream *stream;
  size_t got = piece;
  *size = 0;
  furrow_status status = fw_stream_open(&stream, &file, err);
  assert_int_equal(status, FURROW_OK);
  while (status == FURROW_OK && got == piece) {
    status = fw_stream_read(stream, lines + *size, piece, &got, err);
    if (status == FURROW_OK) *size += got;
  }
  fw_stream_close(stream);
  return status;
}

static void records_are_lines_in_order(void **state) {
  (void)state;
  static const size_t pieces[] = {1, 7, 1000, 50000};
  sample *s = make_sample(100, 2);
  char *found = malloc(200000);
  size_t size;
  furrow_error err;
  assert_non_null(found);
  put(s->bytes, s->size);
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    assert_int_equal(read_in_order(pieces[i], found, &size, &err), FURROW_OK);
    assert_int_equal(size, s->text);
    assert_memory_equal(found, s->lines, size);
  }
  free(found);
  free(s);
}

/* ---- Damage ------------------------------------------------------------------------------------------------- */

static void cut_and_changed_files_are_refused(void **state) {
  (void)state;
  sample *s = make_sample(12, 3);
  char *found = malloc(200000), *copy = malloc(s->size);
  size_t size;
  furrow_error err;
  assert_non_null(found);
  assert_non_null(copy);
  for (size_t n = 4; n < s->size; n++) {
    bool is_end = false;
    for (size_t i = 0; i < s->count; i++) is_end |= s->heads[i] == n;
    put(s->bytes, n);
    memcpy(copy, s->bytes, n);
    const furrow_status expected = is_end ? FURROW_OK : FURROW_E_FORMAT;
    assert_int_equal(read_in_order(1000, found, &size, &err), expected);
    assert_int_equal(fw_recordio_to_lines(copy, n, &err), expected);
    if (!is_end) assert_true(err.offset <= n);
  }
  for (size_t i = 0; i < s->count; i++) { /* a head without its magic number; a part without those before it */
    memcpy(copy, s->bytes, s->size);
    copy[s->heads[i]] ^= 1;
    assert_int_equal(fw_recordio_to_lines(copy, s->size, &err), FURROW_E_FORMAT);
    memcpy(copy, s->bytes, s->size);
    copy[s->heads[i] + 7] |= 0x60;
    put(copy, s->size);
    assert_int_equal(read_in_order(1000, found, &size, &err), FURROW_E_FORMAT);
    assert_int_equal(fw_recordio_to_lines(copy, s->size, &err), FURROW_E_FORMAT);
    assert_int_equal(err.offset, s->heads[i]);
  }
  free(copy);
  free(found);
  free(s);
}

static void lines_become_records(void **state) {
  (void)state;
  sample *s = make_sample(0, 4);
  fw_buffer records = {0}, rest = {0};
  const char lines[] = "1 1:2\n\n0 3:4 5:6\nabcd\n";
  const char *at = lines;
  for (const char *end; (end = strchr(at, '\n')); at = end + 1) add_record(s, at, (size_t)(end - at));
  for (size_t i = 0; i < sizeof lines - 1; i++) fw_recordio_from_lines(&records, &rest, lines + i, 1);
  assert_int_equal(fw_buffer_status(&records, NULL), FURROW_OK);
  assert_int_equal(records.size, s->size);
  assert_memory_equal(records.bytes, s->bytes, s->size);
  assert_int_equal(rest.size, 0);
  fw_buffer_clear(&rest);
  fw_buffer_clear(&records);
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_part_has_the_records_of_its_range),
      cmocka_unit_test(records_are_lines_in_order),
      cmocka_unit_test(cut_and_changed_files_are_refused),
      cmocka_unit_test(lines_become_records),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
