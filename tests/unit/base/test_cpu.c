/* tests/unit/base/test_cpu.c: what the processor can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "support/cmocka_all.h"

static fw_isa best(void) {
  unsetenv("FURROW_ISA");
  return fw_isa_choose();
}

static void names_are_those_of_the_list(void **state) {
  (void)state;
  assert_string_equal(fw_isa_name(FW_ISA_GENERIC), "generic");
  assert_string_equal(fw_isa_name(FW_ISA_NEON), "neon");
  assert_string_equal(fw_isa_name(FW_ISA_AVX2), "avx2");
  assert_string_equal(fw_isa_name(FW_ISA_AVX512), "avx512");
  assert_string_equal(fw_isa_name(FW_ISA_COUNT), "?");
}

static void generic_is_always_there_and_no_level_stands_alone(void **state) {
  (void)state;
  assert_true(fw_isa_available(FW_ISA_GENERIC));
  assert_false(fw_isa_available(FW_ISA_COUNT));
  if (fw_isa_available(FW_ISA_AVX512)) assert_true(fw_isa_available(FW_ISA_AVX2));
  if (fw_isa_available(FW_ISA_NEON)) assert_false(fw_isa_available(FW_ISA_AVX2));
#if defined(__aarch64__)
  assert_true(fw_isa_available(FW_ISA_NEON));
#elif !defined(__x86_64__)
  assert_int_equal(best(), FW_ISA_GENERIC);
#endif
}

/* The kernel's own list of processor flags says the same; it is that of the machine, also where this is emulated. */
static void avx_levels_are_those_of_the_kernel(void **state) {
  (void)state;
#if !defined(__x86_64__)
  skip();
#endif
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) skip();
  static char line[1 << 16];
  bool found = false;
  while (!found && fgets(line, sizeof line, file)) found = strncmp(line, "flags", 5) == 0;
  fclose(file);
  if (!found) skip();
  line[strcspn(line, "\n")] = ' ';
  static const char *const of_avx2[] = {" avx2 ", " bmi1 ", " bmi2 ", " fma ", " f16c ", " abm ", " popcnt "};
  static const char *const of_avx512[] = {" avx512f ",    " avx512bw ",     " avx512vl ",   " avx512dq ",
                                          " avx512vbmi ", " avx512_vbmi2 ", " avx512_vnni "};
  bool avx2 = true, avx512 = true;
  for (size_t i = 0; i < sizeof of_avx2 / sizeof of_avx2[0]; i++) avx2 = avx2 && strstr(line, of_avx2[i]);
  for (size_t i = 0; i < sizeof of_avx512 / sizeof of_avx512[0]; i++) avx512 = avx512 && strstr(line, of_avx512[i]);
  assert_int_equal(fw_isa_available(FW_ISA_AVX2), avx2);
  assert_int_equal(fw_isa_available(FW_ISA_AVX512), avx2 && avx512);
}

static void the_best_level_is_chosen(void **state) {
  (void)state;
  fw_isa chosen = best();
  assert_true(fw_isa_available(chosen));
  for (fw_isa isa = chosen + 1; isa < FW_ISA_COUNT; isa++) assert_false(fw_isa_available(isa));
}

static void the_environment_names_a_level(void **state) {
  (void)state;
  fw_isa chosen = best();
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    setenv("FURROW_ISA", fw_isa_name(isa), 1);
    assert_int_equal(fw_isa_choose(), fw_isa_available(isa) ? isa : chosen);
  }
  static const char *const strange[] = {"", "AVX2", "sse", "generic "};
  for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
    setenv("FURROW_ISA", strange[i], 1);
    assert_int_equal(fw_isa_choose(), chosen);
  }
  unsetenv("FURROW_ISA");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_those_of_the_list),
      cmocka_unit_test(generic_is_always_there_and_no_level_stands_alone),
      cmocka_unit_test(avx_levels_are_those_of_the_kernel),
      cmocka_unit_test(the_best_level_is_chosen),
      cmocka_unit_test(the_environment_names_a_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
