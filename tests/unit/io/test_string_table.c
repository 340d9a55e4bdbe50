/* tests/unit/io/test_string_table.c: tables of texts: built, opened, looked up both ways, refused where damaged. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/mem.h"
#include "io/string_table.h"

typedef struct arena {
  fw_buffer bytes;
  uint64_t offsets[4097];
  size_t count;
} arena;

static void put(arena *a, const char *text, size_t size) {
  fw_buffer_append(&a->bytes, text, size);
  a->offsets[++a->count] = a->bytes.size;
}

static fw_texts texts_of(const arena *a) {
  return (fw_texts){.bytes = a->bytes.bytes, .offsets = a->offsets, .count = a->count};
}

/* Texts of 0 to 40 bytes, 0 bytes among them. */
static void fill(arena *a, size_t count) {
  *a = (arena){0};
  if (count) put(a, "", 0);
  for (size_t i = 1; i < count; i++) {
    char text[64] = {0};
    const int n = snprintf(text, sizeof text, "%zu\xc3\xa4", i * i);
    put(a, text, (size_t)n + i % 37);
  }
}

static void build(fw_buffer *image, const arena *a) {
  const fw_texts texts = texts_of(a);
  assert_int_equal(fw_string_table_build(image, &texts, NULL, NULL), FURROW_OK);
}

static void every_text_is_found(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 2, 3, 15, 16, 17, 100, 4096};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    arena a;
    fw_buffer image = {0};
    fw_string_table table;
    fill(&a, counts[c]);
    fw_buffer_append(&image, "12345678", 8); /* an image may stand behind other bytes */
    build(&image, &a);
    assert_int_equal(image.size % 8, 0);
    assert_int_equal(fw_string_table_open(&table, image.bytes + 8, image.size - 8, NULL), FURROW_OK);
    assert_int_equal(table.size, image.size - 8);
    assert_int_equal(table.count, counts[c]);
    assert_int_equal(fw_string_table_verify(&table, NULL), FURROW_OK);
    for (size_t i = 0; i < a.count; i++) {
      size_t size;
      const char *text = fw_string_table_text(&table, i, &size), *own = a.bytes.bytes + a.offsets[i];
      assert_int_equal(size, a.offsets[i + 1] - a.offsets[i]);
      assert_memory_equal(text, own, size);
      assert_int_equal(fw_string_table_find(&table, own, size), i);
    }
    assert_true(fw_string_table_find(&table, "not there", 9) == FW_STRING_TABLE_NONE);
    fw_buffer_clear(&image);
    fw_buffer_clear(&a.bytes);
  }
}

static void equal_texts_are_refused(void **state) {
  (void)state;
  arena a;
  fw_buffer image = {0};
  size_t twins[2] = {0};
  furrow_error err;
  fill(&a, 50);
  put(&a, "9\xc3\xa4\0\0\0", 6); /* text 3 */
  put(&a, "", 0);
  const fw_texts texts = texts_of(&a);
  fw_buffer_append(&image, "12345678", 8);
  assert_int_equal(fw_string_table_build(&image, &texts, twins, &err), FURROW_E_EXISTS);
  assert_int_equal(twins[0], 3);
  assert_int_equal(twins[1], 50);
  assert_int_equal(image.size, 8);
  fw_buffer_clear(&image);
  fw_buffer_clear(&a.bytes);
}

/* Any changed bit and any cut is seen; with a digest that is made right, nothing is read outside of the image. */
static void damage_is_refused(void **state) {
  (void)state;
  arena a;
  fw_buffer image = {0};
  fw_string_table table;
  furrow_error err;
  fill(&a, 9);
  build(&image, &a);
  for (size_t cut = 0; cut < image.size; cut++) {
    char *copy = malloc(cut + 1);
    memcpy(copy, image.bytes, cut);
    assert_int_equal(fw_string_table_open(&table, copy, cut, &err), FURROW_E_FORMAT);
    free(copy);
  }
  for (size_t bit = 0; bit < 8 * image.size; bit++) {
    image.bytes[bit / 8] = (char)(image.bytes[bit / 8] ^ 1 << bit % 8);
    assert_int_equal(fw_string_table_open(&table, image.bytes, image.size, &err), FURROW_E_FORMAT);
    image.bytes[bit / 8] = (char)(image.bytes[bit / 8] ^ 1 << bit % 8);
  }
  fw_buffer_clear(&image);
  fw_buffer_clear(&a.bytes);
}

typedef struct lie {
  size_t at;
  uint64_t value; /* 8 bytes */
  size_t found;   /* the byte that the error names */
  const char *message;
} lie;

/* Nine texts: offsets at 32, texts at 112, slots of 32 behind them. */
static void lies_are_refused(void **state) {
  (void)state;
  static const lie lies[] = {
      {8, UINT64_MAX, 8, "has more texts than bytes for them"},
      {8, 8, 24, "has a wrong number of slots for its count"},
      {16, UINT64_MAX, 16, "has longer texts than bytes for them"},
      {24, 63, 24, "has a wrong number of slots for its count"},
      {24, 5 | (uint64_t)1 << 32, 28, "has a byte that is not 0 but must be"},
      {32, 1, 32, "does not begin with offset 0"},
      {40, 1000, 48, "has offsets that descend"},
      {104, 4000, 104, "does not end at its last offset"},
  };
  arena a;
  fw_buffer image = {0};
  fill(&a, 9);
  build(&image, &a);
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    fw_string_table table;
    furrow_error err;
    char message[128], *copy = malloc(image.size);
    memcpy(copy, image.bytes, image.size);
    fw_put_le64(copy + lies[i].at, lies[i].value);
    fw_put_le64(copy, XXH3_64bits(copy + 8, image.size - 8));
    assert_int_equal(fw_string_table_open(&table, copy, image.size, &err), FURROW_E_FORMAT);
    snprintf(message, sizeof message, "the table of texts %s", lies[i].message);
    assert_string_equal(err.message, message);
    assert_int_equal(err.offset, lies[i].found);
    free(copy);
  }
  fw_buffer_clear(&image);
  fw_buffer_clear(&a.bytes);
}

/* Headers whose counts are at a limit: the error names the first number that cannot be. */
static void limits(void **state) {
  (void)state;
  arena a;
  fw_buffer image = {0};
  fill(&a, 9);
  build(&image, &a);
  const struct {
    size_t at;
    uint64_t value; /* 8 bytes */
    size_t size, found;
  } cases[] = {
      {8, 9, 31, 31},
      {8, 9, 32, 8},
      {8, 9, 32 + 8 * 9 - 1, 8},
      {8, 9, 32 + 8 * 9, 32 + 8 * 9},
      {16, image.size, image.size, image.size},
      {16, image.size + 1, image.size, 16},
      {8, FW_STRING_TABLE_MOST + 1, (size_t)1 << 40, 8},
      {8, FW_STRING_TABLE_MOST, (size_t)1 << 40, 24}, /* so many need more slots */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fw_string_table table;
    furrow_error err;
    char *copy = malloc(image.size);
    memcpy(copy, image.bytes, image.size);
    fw_put_le64(copy + cases[i].at, cases[i].value);
    assert_int_equal(fw_string_table_open(&table, copy, cases[i].size, &err), FURROW_E_FORMAT);
    if (err.offset != cases[i].found) fail_msg("case %zu: byte %zu, %s", i, (size_t)err.offset, err.message);
    free(copy);
  }
  fw_buffer_clear(&image);
  fw_buffer_clear(&a.bytes);
}

static void too_many_texts(void **state) {
  (void)state;
  static const fw_texts texts = {.count = FW_STRING_TABLE_MOST + 1};
  fw_buffer image = {0};
  furrow_error err;
  assert_int_equal(fw_string_table_build(&image, &texts, NULL, &err), FURROW_E_RANGE);
  assert_string_equal(err.message, "a table holds at most 4294967294 texts");
  assert_null(image.bytes);
}

/* A buffer that lacked memory before takes no table; a caller that does not ask for equal texts gets only the error. */
static void without_place(void **state) {
  (void)state;
  arena a;
  fill(&a, 5);
  const fw_texts texts = texts_of(&a);
  fw_buffer image = {.missing = 100};
  furrow_error err;
  assert_int_equal(fw_string_table_build(&image, &texts, NULL, &err), FURROW_E_MEMORY);
  assert_int_equal(image.size, 0);
  put(&a, "", 0);
  put(&a, "", 0);
  const fw_texts equal = texts_of(&a);
  fw_buffer other = {0};
  assert_int_equal(fw_string_table_build(&other, &equal, NULL, &err), FURROW_E_EXISTS);
  assert_int_equal(other.size, 0);
  fw_buffer_clear(&other);
  fw_buffer_clear(&a.bytes);
}

/* Slots that point elsewhere: beyond the texts, none, all; and two that are swapped, which only verify sees. */
static void lying_slots(void **state) {
  (void)state;
  arena a;
  fw_buffer image = {0};
  fw_string_table table;
  furrow_error err;
  fill(&a, 9);
  build(&image, &a);
  char *slots = image.bytes + image.size - 8 * 32, *used[2] = {NULL, NULL};
  for (size_t i = 0; i < 32 && !used[1]; i++)
    if (fw_get_le64(slots + 8 * i)) used[used[0] != NULL] = slots + 8 * i;
  const uint64_t first = fw_get_le64(used[0]), second = fw_get_le64(used[1]);
  const uint64_t values[] = {first + 9, first >> 32 << 32, 0};
  for (size_t i = 0; i < 3; i++) {
    fw_put_le64(used[0], values[i]);
    fw_put_le64(image.bytes, XXH3_64bits(image.bytes + 8, image.size - 8));
    assert_int_equal(fw_string_table_open(&table, image.bytes, image.size, &err), FURROW_E_FORMAT);
  }
  fw_put_le64(used[0], second);
  fw_put_le64(used[1], first);
  fw_put_le64(image.bytes, XXH3_64bits(image.bytes + 8, image.size - 8));
  assert_int_equal(fw_string_table_open(&table, image.bytes, image.size, &err), FURROW_OK);
  assert_int_equal(fw_string_table_verify(&table, &err), FURROW_E_FORMAT);
  fw_buffer_clear(&image);
  fw_buffer_clear(&a.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_text_is_found), cmocka_unit_test(equal_texts_are_refused),
      cmocka_unit_test(damage_is_refused),   cmocka_unit_test(lies_are_refused),
      cmocka_unit_test(lying_slots),         cmocka_unit_test(limits),
      cmocka_unit_test(too_many_texts),      cmocka_unit_test(without_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
