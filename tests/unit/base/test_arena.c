/* tests/unit/base/test_arena.c: scratch memory that is given back all at once. */
#include <string.h>

#include "base/arena.h"
#include "support/cmocka_all.h"

static void pieces_are_aligned_and_apart(void **state) {
  (void)state;
  enum { PIECES = 2000 };
  static unsigned char *piece[PIECES];
  static size_t length[PIECES];
  fw_arena arena = {0};
  for (int round = 0; round < 3; round++) {
    size_t seed = 12345 + (size_t)round;
    for (size_t i = 0; i < PIECES; i++) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      length[i] = (seed >> 33) % (i % 100 == 0 ? 200000 : 300);
      void *memory = NULL;
      assert_int_equal(fw_arena_take(&arena, &memory, length[i], 1, NULL), FURROW_OK);
      assert_non_null(memory);
      assert_int_equal((uintptr_t)memory % 64, 0);
      piece[i] = memory;
      memset(piece[i], (int)(i & 0xff), length[i]);
    }
    for (size_t i = 0; i < PIECES; i++) {
      for (size_t k = 0; k < length[i]; k++) assert_int_equal(piece[i][k], i & 0xff);
    }
    fw_arena_reset(&arena);
  }
  fw_arena_clear(&arena);
}

static void count_and_size_are_multiplied(void **state) {
  (void)state;
  fw_arena arena = {0};
  void *a, *b;
  assert_int_equal(fw_arena_take(&arena, &a, 100, 8, NULL), FURROW_OK);
  assert_int_equal(fw_arena_take(&arena, &b, 1, 1, NULL), FURROW_OK);
  assert_true((char *)b >= (char *)a + 800);
  fw_arena_clear(&arena);
}

static void a_round_that_repeats_settles_in_one_block(void **state) {
  (void)state;
  fw_arena arena = {0};
  for (int round = 0; round < 10; round++) {
    struct fw_arena_block *kept = arena.blocks;
    void *memory;
    for (int i = 0; i < 100; i++) assert_int_equal(fw_arena_take(&arena, &memory, 10000, 1, NULL), FURROW_OK);
    if (round > 5) assert_ptr_equal(arena.blocks, kept);
    fw_arena_reset(&arena);
    assert_non_null(arena.blocks);
    assert_int_equal(arena.used, 0);
  }
  fw_arena_clear(&arena);
}

static void reset_keeps_the_largest_block(void **state) {
  (void)state;
  fw_arena arena = {0};
  void *small, *large, *again;
  assert_int_equal(fw_arena_take(&arena, &small, 1, 1, NULL), FURROW_OK);
  assert_int_equal(fw_arena_take(&arena, &large, 100 << 20, 1, NULL), FURROW_OK);
  assert_int_equal(fw_arena_take(&arena, &small, 1, 1, NULL), FURROW_OK);
  fw_arena_reset(&arena);
  assert_int_equal(fw_arena_take(&arena, &again, 100 << 20, 1, NULL), FURROW_OK);
  assert_ptr_equal(again, large);
  fw_arena_clear(&arena);
}

static void too_much_is_refused_and_the_arena_lives_on(void **state) {
  (void)state;
  fw_arena arena = {0};
  furrow_error err;
  char mine;
  void *memory = &mine;
  assert_int_equal(fw_arena_take(&arena, &memory, SIZE_MAX, 1, &err), FURROW_E_MEMORY);
  assert_int_equal(err.status, FURROW_E_MEMORY);
  assert_int_equal(fw_arena_take(&arena, &memory, SIZE_MAX - 100, 1, &err), FURROW_E_MEMORY);
  assert_int_equal(fw_arena_take(&arena, &memory, SIZE_MAX / 2, 3, &err), FURROW_E_MEMORY);
  assert_int_equal(fw_arena_take(&arena, &memory, SIZE_MAX / 4, 2, &err), FURROW_E_MEMORY);
  assert_ptr_equal(memory, &mine);
  assert_int_equal(fw_arena_take(&arena, &memory, 10, 1, &err), FURROW_OK);
  assert_ptr_not_equal(memory, &mine);
  void *before = memory;
  assert_int_equal(fw_arena_take(&arena, &memory, SIZE_MAX / 4, 2, &err), FURROW_E_MEMORY);
  assert_ptr_equal(memory, before);
  assert_int_equal(fw_arena_take(&arena, &memory, 10, 1, &err), FURROW_OK);
  assert_ptr_equal(memory, (char *)before + 64);
  fw_arena_clear(&arena);
}

static void clear_leaves_an_empty_arena(void **state) {
  (void)state;
  fw_arena arena = {0};
  fw_arena_reset(&arena);
  fw_arena_clear(&arena);
  void *memory;
  assert_int_equal(fw_arena_take(&arena, &memory, 0, 8, NULL), FURROW_OK);
  assert_non_null(memory);
  fw_arena_clear(&arena);
  assert_null(arena.blocks);
  assert_int_equal(arena.used, 0);
  assert_int_equal(fw_arena_take(&arena, &memory, 5, 8, NULL), FURROW_OK);
  fw_arena_clear(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_are_aligned_and_apart),
      cmocka_unit_test(count_and_size_are_multiplied),
      cmocka_unit_test(a_round_that_repeats_settles_in_one_block),
      cmocka_unit_test(reset_keeps_the_largest_block),
      cmocka_unit_test(too_much_is_refused_and_the_arena_lives_on),
      cmocka_unit_test(clear_leaves_an_empty_arena),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
