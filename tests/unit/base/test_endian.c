/* tests/unit/base/test_endian.c: fixed-width numbers at any address, in a stated byte order. */
#include "base/endian.h"
#include "support/cmocka_all.h"

static const unsigned char bytes[] = {0x81, 0x02, 0x43, 0x04, 0x65, 0x06, 0x87, 0x09};

static void get_reads_the_stated_order(void **state) {
  (void)state;
  for (size_t shift = 0; shift < 8; shift++) { /* at any address */
    unsigned char buffer[16];
    memcpy(buffer + shift, bytes, 8);
    assert_true(fw_get_le16(buffer + shift) == 0x0281);
    assert_true(fw_get_be16(buffer + shift) == 0x8102);
    assert_true(fw_get_le32(buffer + shift) == 0x04430281U);
    assert_true(fw_get_be32(buffer + shift) == 0x81024304U);
    assert_true(fw_get_le64(buffer + shift) == 0x0987066504430281U);
    assert_true(fw_get_be64(buffer + shift) == 0x8102430465068709U);
  }
}

/* Puts at every address and checks the bytes beside the number too. */
#define FW_X(bits)                                                           \
  static void put_##bits##_writes_what_get_reads(void **state) {             \
    (void)state;                                                             \
    uint##bits##_t le = fw_get_le##bits(bytes), be = fw_get_be##bits(bytes); \
    for (size_t shift = 1; shift < 8; shift++) {                             \
      unsigned char expected[24], buffer[24];                                \
      memset(expected, 0x5a, sizeof expected);                               \
      memset(buffer, 0x5a, sizeof buffer);                                   \
      memcpy(expected + shift, bytes, bits / 8);                             \
      fw_put_le##bits(buffer + shift, le);                                   \
      assert_memory_equal(buffer, expected, sizeof buffer);                  \
      memset(buffer + shift, 0, bits / 8);                                   \
      fw_put_be##bits(buffer + shift, be);                                   \
      assert_memory_equal(buffer, expected, sizeof buffer);                  \
    }                                                                        \
  }
FW_ENDIAN_WIDTHS(FW_X)
#undef FW_X

typedef struct taken {
  unsigned char bytes[10000];
  size_t size;
  int calls, failing_call;
} taken;

static furrow_status take(void *to, const void *got, size_t size, furrow_error *err) {
  taken *t = to;
  (void)err;
  if (++t->calls == t->failing_call) return FURROW_E_IO;
  memcpy(t->bytes + t->size, got, size);
  t->size += size;
  return FURROW_OK;
}

/* Elements reversed on their way, in pieces; the first failure of the sink ends it. */
static void elements_go_out_reversed(void **state) {
  (void)state;
  static unsigned char from[9000];
  for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i * 31 >> 3);
  for (size_t size = 1; size <= 8; size *= 2) {
    taken t = {.size = 0};
    assert_int_equal(fw_put_swapped(take, &t, from, size, sizeof from / size, NULL), FURROW_OK);
    assert_int_equal(t.calls, 3);
    assert_int_equal(t.size, sizeof from);
    for (size_t i = 0; i < sizeof from; i++)
      assert_int_equal(t.bytes[i], from[i / size * size + (size - 1 - i % size)]);
  }
  taken t = {.failing_call = 2};
  assert_int_equal(fw_put_swapped(take, &t, from, 4, sizeof from / 4, NULL), FURROW_E_IO);
  assert_int_equal(t.calls, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(get_reads_the_stated_order),   cmocka_unit_test(put_16_writes_what_get_reads),
      cmocka_unit_test(put_32_writes_what_get_reads), cmocka_unit_test(put_64_writes_what_get_reads),
      cmocka_unit_test(elements_go_out_reversed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
