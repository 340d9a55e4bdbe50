/* tests/unit/rows/test_fast_paths.c: the fast way through a chunk gives what the careful way gives, at every level of
 * instructions, for all types, both answers to bad rows, and texts from regular to wild. */
#include "fuzz/harness/rows_harness.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/sample_text.h"

static void print_text(const rows_setup *setup, const char *text, size_t length) {
  fprintf(stderr, "format %s, args '%s', %s, %s, on_bad %d, base %u, %zu bytes:\n", setup->format, setup->args,
          furrow_key_type_name(setup->key_type), furrow_value_type_name(setup->value_type), (int)setup->on_bad,
          setup->base, length);
  for (size_t i = 0; i < length && i < 400; i++) {
    const unsigned char c = (unsigned char)text[i];
    fprintf(stderr, c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
  }
  fprintf(stderr, "\n");
}

/* Takes pieces out of a text for as long as the two ways differ on the rest. */
static size_t shrink(const rows_setup *setup, char *text, size_t length) {
  char *copy = malloc(length + 1);
  for (size_t n = length / 2; copy && n > 0; n /= 2) {
    for (size_t at = 0; at + n <= length;) {
      memcpy(copy, text, at);
      memcpy(copy + at, text + at + n, length - at - n);
      if (rows_compare(setup, copy, length - n, 0)) {
        at += n;
      } else {
        length -= n;
        memcpy(text, copy, length);
      }
    }
  }
  free(copy);
  return length;
}

static void check(const rows_setup *setup, text_maker *m) {
  if (rows_compare(setup, m->text, m->length, 0)) return;
  size_t length = shrink(setup, m->text, m->length);
  (void)rows_compare(setup, m->text, length, 0);
  print_text(setup, m->text, length);
  fail_msg("fast and careful differ");
}

static void draw_setup(text_maker *m, rows_setup *setup, char args[64]) {
  static const char delimiters[] = ",,,,; \t|x\x01\xff";
  setup->key_type = (furrow_key_type)text_below(m, 2);
  setup->value_type = text_below(m, 2) ? FURROW_VALUE_F32 : (furrow_value_type)text_below(m, 3);
  setup->on_bad = (furrow_on_bad)text_below(m, 2);
  setup->base = (uint32_t)text_below(m, 2);
  m->integers = setup->value_type != FURROW_VALUE_F32 && text_below(m, 8) > 0;
  args[0] = 0;
  if (strcmp(setup->format, "csv") == 0) {
    static const char *const headers[] = {"auto", "no", "no", "yes"};
    m->delimiter = delimiters[text_below(m, sizeof delimiters - 1)];
    snprintf(args, 64, "label_column=%d&weight_column=%d&header=%s&delimiter=%c", (int)text_below(m, 4) - 1,
             text_below(m, 3) ? -1 : (int)text_below(m, 6), headers[text_below(m, 4)], m->delimiter);
  }
  if (strcmp(setup->format, "csv") != 0 && strcmp(setup->format, "dense") != 0)
    snprintf(args, 64, "has_label=%s", text_below(m, 4) ? "yes" : "no");
  setup->args = args;
}

static void compare_many(text_kind kind, uint64_t seed, size_t texts, size_t most) {
  text_maker m = {0};
  char args[64];
  rows_setup setup = {.format = text_formats[kind]};
  fw_rng_init(&m.rng, seed);
  for (size_t i = 0; i < texts / SLOW; i++) {
    draw_setup(&m, &setup, args);
    text_make(&m, kind, (size_t)text_below(&m, most));
    text_mutate(&m, text_below(&m, 2) ? 0 : (unsigned)text_below(&m, 6));
    check(&setup, &m);
  }
  free(m.text);
}

/* Puts a header n0, n1, … before the text. */
static void add_header(text_maker *m) {
  char *body = malloc(m->length + 1);
  const size_t length = m->length;
  assert_non_null(body);
  memcpy(body, m->text, length);
  m->length = 0;
  for (unsigned i = 0; i < m->cells; i++) {
    char name[16];
    snprintf(name, sizeof name, "%sn%u", i ? "," : "", i);
    text_puts(m, name);
  }
  text_puts(m, "\n");
  text_put(m, body, length);
  free(body);
}

/* Names some of the columns but the first, in an order of their own. */
static void name_columns(text_maker *m, char *args, size_t size) {
  unsigned names[200];
  unsigned count = 0;
  for (unsigned i = 1; i < m->cells; i++)
    if (text_below(m, 8)) names[count++] = i;
  for (unsigned i = count; i > 1 && text_below(m, 4); i--) {
    const unsigned k = (unsigned)text_below(m, i), other = names[k];
    names[k] = names[i - 1];
    names[i - 1] = other;
  }
  size_t used = (size_t)snprintf(args, size, "extra=ignore%s", text_below(m, 2) ? "&label_column=n0" : "");
  for (unsigned i = 0; i < count; i++)
    used += (size_t)snprintf(args + used, size - used, "%sn%u", i ? "," : "&columns=", names[i]);
}

/* Columns that are found by their names, in any order, some of them left out. */
static void named_columns(void **state) {
  (void)state;
  text_maker m = {.delimiter = ','};
  char args[2048];
  fw_rng_init(&m.rng, 11);
  for (size_t i = 0; i < 6000 / SLOW; i++) {
    rows_setup setup = {.format = "csv",
                        .args = args,
                        .key_type = (furrow_key_type)text_below(&m, 2),
                        .value_type = (furrow_value_type)(text_below(&m, 2) ? text_below(&m, 3) : 0),
                        .on_bad = (furrow_on_bad)text_below(&m, 2)};
    m.integers = setup.value_type != FURROW_VALUE_F32;
    text_make(&m, TEXT_CSV, (size_t)text_below(&m, 1500));
    add_header(&m);
    name_columns(&m, args, sizeof args);
    check(&setup, &m);
  }
  free(m.text);
}

static void small_texts(void **state) {
  (void)state;
  for (text_kind kind = 0; kind < TEXT_KINDS; kind++) compare_many(kind, 1 + (uint64_t)kind, 12000, 400);
}

/* Several windows, and rows that a window cannot hold. */
static void large_texts(void **state) {
  (void)state;
  for (text_kind kind = 0; kind < TEXT_KINDS; kind++) compare_many(kind, 100 + (uint64_t)kind, 240, 40000);
}

static void long_lines(void **state) {
  (void)state;
  text_maker m = {0};
  char args[64];
  fw_rng_init(&m.rng, 7);
  for (size_t i = 0; i < 200 / SLOW; i++) {
    const text_kind kind = (text_kind)text_below(&m, TEXT_KINDS);
    rows_setup setup = {.format = text_formats[kind]};
    draw_setup(&m, &setup, args);
    text_make(&m, kind, 30000);
    for (size_t k = 0; k < m.length; k++)
      if ((m.text[k] == '\n' || m.text[k] == '\r') && text_below(&m, 100))
        m.text[k] = kind == TEXT_CSV ? m.delimiter : ' ';
    check(&setup, &m);
  }
  free(m.text);
}

/* ---- Cases found, each once a fault --------------------------------------------------------------------- */

/* Features between no-break spaces have no marks: the rows behind them still need room. */
static void features_without_marks(void **state) {
  (void)state;
  text_maker m = {0};
  for (int rows = 0; rows < 3; rows++) {
    text_puts(&m, "1");
    for (int i = 0; i < 900; i++)
      text_puts(&m, "\xc2\xa0"
                    "5");
    text_puts(&m, "\n1");
    for (int i = 0; i < 1800; i++) text_puts(&m, " 6");
    text_puts(&m, "\n");
  }
  const rows_setup setup = {.format = "libsvm", .args = ""};
  check(&setup, &m);
  free(m.text);
}

/* A bad row leaves no trace: not the fields that it began. */
static void fields_of_a_bad_row(void **state) {
  (void)state;
  text_maker m = {0};
  const rows_setup setup = {.format = "libfm", .args = "", .on_bad = FURROW_ON_BAD_SKIP};
  text_puts(&m, "1\n2 1:2:3 x1\n3\n");
  check(&setup, &m);
  free(m.text);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(features_without_marks), cmocka_unit_test(fields_of_a_bad_row), cmocka_unit_test(small_texts),
      cmocka_unit_test(named_columns),          cmocka_unit_test(large_texts),         cmocka_unit_test(long_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
