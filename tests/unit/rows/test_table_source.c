/* tests/unit/rows/test_table_source.c: tables in files, read in pieces by threads. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "rows/table/text_table.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/own_dir.h"

/* ---- Reading -------------------------------------------------------------------------------------------- */

#define MOST_PIECES 20000

/* Cells of each piece, each with its length before it, so that no text can be taken for another. */
typedef struct collected {
  fw_buffer pieces[MOST_PIECES];
  size_t slots;
} collected;

static furrow_status collect(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                             furrow_error *err) {
  collected *c = user;
  (void)cursor;
  (void)err;
  assert_true(piece < MOST_PIECES);
  for (size_t r = 0; r < batch->records; r++)
    for (size_t s = 0; s < c->slots; s++) {
      const fw_table_cell *cell = &fw_table_cells(batch, s)[r];
      assert_int_equal(cell->kind, cell->length ? FW_TABLE_TEXT : FW_TABLE_MISSING);
      fw_buffer_format(&c->pieces[piece], "%u:", cell->length);
      fw_buffer_append(&c->pieces[piece], cell->text, cell->length);
    }
  return FURROW_OK;
}

/* All cells of all columns, in order, appended to `out`. */
static furrow_status read_all(const char *uri, const fw_table_scan_params *params, fw_buffer *out,
                              furrow_parser_stats *stats, furrow_error *err) {
  static collected c;
  fw_table_source *source = NULL;
  fw_table *table = NULL;
  void *users[8] = {&c, &c, &c, &c, &c, &c, &c, &c};
  furrow_status status = fw_table_source_open(&source, uri, err);
  if (status == FURROW_OK) {
    const fw_table_layout *layout = fw_table_source_layout(source);
    c.slots = layout->columns;
    status = fw_table_create(&table, layout, (const char *const *)layout->names, layout->columns, NULL, err);
  }
  if (status == FURROW_OK) status = fw_table_scan(source, table, params, users, collect, stats, err);
  for (size_t i = 0; i < MOST_PIECES; i++) {
    if (status == FURROW_OK && c.pieces[i].size) fw_buffer_append(out, c.pieces[i].bytes, c.pieces[i].size);
    fw_buffer_clear(&c.pieces[i]);
  }
  fw_table_free(table);
  fw_table_source_close(source);
  return status;
}

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static void write_text(const char *path, const char *text) {
  write_file(path, text, strlen(text));
}

/* ---- Random tables -------------------------------------------------------------------------------------- */

typedef struct maker {
  fw_rng rng;
  char delimiter;
  bool newlines; /* in cells */
  const char *line_end;
  fw_buffer text, cells;
} maker;

static void make_cell(maker *m, bool last_is_alone) {
  static const char letters[] = "ab1.\",;\t| \n\r#x";
  char cell[40];
  size_t n = fw_rng_below(&m->rng, 10) == 0 ? fw_rng_below(&m->rng, 40) : fw_rng_below(&m->rng, 5);
  bool quoted = fw_rng_below(&m->rng, 4) == 0;
  for (size_t i = 0; i < n; i++) cell[i] = letters[fw_rng_below(&m->rng, sizeof letters - 1)];
  for (size_t i = 0; i < n; i++) {
    if (!m->newlines && (cell[i] == '\n' || cell[i] == '\r')) cell[i] = 'n';
    quoted |= cell[i] == m->delimiter || cell[i] == '\n' || cell[i] == '\r';
  }
  if (n > 0 && (strchr(" \t\"", cell[0]) || strchr(" \t", cell[n - 1]))) quoted = true;
  if (n == 0 && last_is_alone) quoted = true; /* a blank line is not a record */
  fw_buffer_format(&m->cells, "%zu:", n);
  fw_buffer_append(&m->cells, cell, n);
  const bool padded = m->delimiter != ' ' && fw_rng_below(&m->rng, 30) == 0;
  if (padded) fw_buffer_byte(&m->text, ' ');
  if (quoted) fw_buffer_byte(&m->text, '"');
  for (size_t i = 0; i < n; i++) {
    fw_buffer_byte(&m->text, cell[i]);
    if (quoted && cell[i] == '"') fw_buffer_byte(&m->text, '"');
  }
  if (quoted) fw_buffer_byte(&m->text, '"');
  if (padded) fw_buffer_byte(&m->text, ' ');
}

static void make_table(maker *m, size_t columns, size_t records) {
  const bool delimiter_at_end = fw_rng_below(&m->rng, 4) == 0;
  fw_buffer_text(&m->text, "\"first \"\"one\"\"\"");
  for (size_t i = 1; i < columns; i++) fw_buffer_format(&m->text, "%cname %zu", m->delimiter, i);
  fw_buffer_text(&m->text, m->line_end);
  for (size_t r = 0; r < records; r++) {
    for (size_t i = 0; i < columns; i++) {
      if (i) fw_buffer_byte(&m->text, m->delimiter);
      make_cell(m, columns == 1);
    }
    if (delimiter_at_end) fw_buffer_byte(&m->text, m->delimiter);
    if (r + 1 < records || fw_rng_below(&m->rng, 2)) fw_buffer_text(&m->text, m->line_end);
    if (fw_rng_below(&m->rng, 50) == 0) fw_buffer_text(&m->text, m->line_end);
  }
}

/* What a writer wrote with any quoting is read back, whatever the pieces and the threads. */
static void random_tables(void **state) {
  (void)state;
  static const char delimiters[] = ",;\t|", *const line_ends[] = {"\n", "\r\n", "\r"};
  for (unsigned seed = 0; seed < 160 / SLOW; seed++) {
    maker m = {0};
    fw_rng_init(&m.rng, seed);
    m.delimiter = delimiters[seed % 4];
    m.line_end = line_ends[fw_rng_below(&m.rng, 3)];
    m.newlines = fw_rng_below(&m.rng, 2);
    make_table(&m, 1 + fw_rng_below(&m.rng, 6), fw_rng_below(&m.rng, 2) ? 2000 : fw_rng_below(&m.rng, 60));
    write_file("t.csv", m.text.bytes, m.text.size);
    char uri[128];
    snprintf(uri, sizeof uri, "t.csv?header=yes&delimiter=%s%s", m.delimiter == '\t' ? "\\t" : (char[]){m.delimiter, 0},
             m.newlines                ? ""
             : fw_rng_below(&m.rng, 2) ? "&newlines=no"
                                       : "&newlines=yes");
    for (unsigned round = 0; round < 4; round++) {
      const size_t pieces[] = {0, 1 + fw_rng_below(&m.rng, 100), 1000, 1 + fw_rng_below(&m.rng, 100000)};
      const fw_table_scan_params params = {
          .threads = 1 + (uint32_t)fw_rng_below(&m.rng, 3),
          .piece_bytes = m.text.size / 100 > pieces[round] && pieces[round] ? m.text.size / 100 : pieces[round]};
      fw_buffer out = {0};
      furrow_error err;
      furrow_parser_stats stats;
      furrow_parser_stats_init(&stats);
      if (read_all(uri, &params, &out, &stats, &err) != FURROW_OK)
        fail_msg("seed %u: %s:%llu: %s '%s'", seed, err.file, (unsigned long long)err.line, err.message, err.token);
      if (out.size != m.cells.size || (out.size && memcmp(out.bytes, m.cells.bytes, out.size) != 0))
        fail_msg("seed %u round %u: %zu bytes of cells, not %zu", seed, round, out.size, m.cells.size);
      assert_int_equal(stats.bytes, m.text.size);
      fw_buffer_clear(&out);
    }
    fw_buffer_clear(&m.text);
    fw_buffer_clear(&m.cells);
  }
}

/* Small tables cut at every size of pieces. */
static void tiny_pieces(void **state) {
  (void)state;
  static const char *const texts[] = {
      "u,v\n1,2\n33,44\n\n5,\n",
      "\xef\xbb\xbf\n\n\"u\",v\n\"1\n\n\",2\r\n\"3\"\"\",\"\r\"\r\n5,6",
      "u,v\r1,2\r\"3\r\",4",
      "u,v\n5\" disk,\"a\nb\"\n\"\"\"\",x\"\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    fw_buffer whole = {0};
    write_text("t.csv", texts[i]);
    assert_int_equal(read_all("t.csv", &(fw_table_scan_params){.threads = 1}, &whole, NULL, NULL), FURROW_OK);
    assert_true(whole.size > 10);
    for (size_t piece = 1; piece <= strlen(texts[i]) + 1; piece++) {
      for (uint32_t threads = 1; threads <= 3; threads++) {
        fw_buffer out = {0};
        const fw_table_scan_params params = {.threads = threads, .piece_bytes = piece};
        assert_int_equal(read_all("t.csv", &params, &out, NULL, NULL), FURROW_OK);
        assert_int_equal(out.size, whole.size);
        assert_memory_equal(out.bytes, whole.bytes, whole.size);
        fw_buffer_clear(&out);
      }
    }
    fw_buffer_clear(&whole);
  }
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static void several_files(void **state) {
  (void)state;
  static const struct {
    const char *uri, *wanted; /* cells, or the error */
  } list[] = {
      {"a.csv;b.csv", "1:11:21:31:41:51:6"},
      {"a.csv;empty.csv;b.csv", "1:11:21:31:41:51:6"},
      {"empty.csv;b.csv", "1:51:6"},
      {"a.csv;short.csv", "short.csv:0 the header has no column v, which the first file has ''"},
      {"a.csv;long.csv", "long.csv:0 the header has a column that the first file does not have 'w'"},
      {"a.csv;other.csv", "other.csv:0 column 1 (from 0) of the header differs from the first file's: v 'w'"},
      {"a.csv?header=no", "1:u1:v1:11:21:31:4"},
      {"hive.txt?delimiter=%01", "1:51:6"},
      {"none.csv", "none.csv:0 no such file or directory ''"},
      {"empty.csv", "empty.csv:0 the table is empty ''"},
      {"a.csv?kind=no", ":0 kind of a table must be one of: csv, tsv, json, vw, auto 'no'"},
  };
  write_text("a.csv", "u,v\n1,2\n3,4\n");
  write_text("b.csv", "u,v\n5,6");
  write_text("empty.csv", "");
  write_text("hive.txt", "u\001v\n5\0016\n");
  write_text("short.csv", "u\n5\n");
  write_text("long.csv", "u,v,w\n5,6,7\n");
  write_text("other.csv", "u,w\n5,6\n");
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
    for (size_t piece = 0; piece < 9; piece++) {
      fw_buffer out = {0};
      furrow_error err;
      const fw_table_scan_params params = {.threads = 1 + (uint32_t)piece % 3, .piece_bytes = piece};
      if (read_all(list[i].uri, &params, &out, NULL, &err) != FURROW_OK)
        fw_buffer_format(&out, "%s:%llu %s '%s'", err.file, (unsigned long long)err.line, err.message, err.token);
      fw_buffer_byte(&out, 0);
      assert_string_equal(out.bytes, list[i].wanted);
      fw_buffer_clear(&out);
    }
}

/* Every record is in exactly one part. */
static void parts(void **state) {
  (void)state;
  fw_buffer text = {0}, whole = {0};
  fw_buffer_text(&text, "u,v\n");
  for (int i = 0; i < 300; i++) fw_buffer_format(&text, "%d,x\n", i);
  write_file("a.csv", text.bytes, text.size);
  write_text("b.csv", "u,v\n\"a\nb\",c\n");
  for (int multiline = 0; multiline < 2; multiline++) {
    const char *uri = multiline ? "a.csv;b.csv;a.csv?newlines=yes" : "a.csv;a.csv";
    fw_buffer_reset(&whole);
    assert_int_equal(read_all(uri, &(fw_table_scan_params){.threads = 1}, &whole, NULL, NULL), FURROW_OK);
    for (uint32_t n = 1; n < 6; n++) {
      fw_buffer out = {0};
      for (uint32_t k = 0; k < n; k++) {
        const fw_table_scan_params params = {.threads = 2, .piece_bytes = 50, .part = k, .nparts = n};
        assert_int_equal(read_all(uri, &params, &out, NULL, NULL), FURROW_OK);
      }
      assert_int_equal(out.size, whole.size);
      assert_memory_equal(out.bytes, whole.bytes, whole.size);
      fw_buffer_clear(&out);
    }
  }
  fw_buffer_clear(&text);
  fw_buffer_clear(&whole);
}

/* ---- Bad records ---------------------------------------------------------------------------------------- */

/* The first bad record is told with file and line, for any pieces and threads; left out, all are counted. */
static void error_positions(void **state) {
  (void)state;
  static const struct {
    const char *name, *bad, *place;
  } list[] = {
      {"a.csv?newlines=no", "7\n", "a.csv:702:2 the header has 2 columns, this record has 1 ''"},
      {"a.csv?newlines=yes", "7\n", "a.csv:702:2 the header has 2 columns, this record has 1 ''"},
      {"a.csv?newlines=no", "7,\"x\n", "a.csv:702:3 a quote is not closed '\"x'"},
      {"a.csv", "\"7\"x,y\n", "a.csv:702:1 text follows a quote that closes its cell '\"7\"x,y'"},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    fw_buffer text = {0};
    fw_buffer_text(&text, "u,v\n");
    for (int k = 0; k < 2000; k++) fw_buffer_text(&text, k >= 700 && k % 100 == 0 ? list[i].bad : "123,45\n");
    write_file("a.csv", text.bytes, text.size);
    for (unsigned round = 0; round < 12; round++) {
      fw_buffer out = {0};
      furrow_error err = {0};
      furrow_parser_stats stats;
      furrow_parser_stats_init(&stats);
      fw_table_scan_params params = {.threads = 1 + round % 3, .piece_bytes = 100 * (round / 3) * (round / 3)};
      char place[1024];
      assert_int_equal(read_all(list[i].name, &params, &out, &stats, &err), FURROW_E_PARSE);
      snprintf(place, sizeof place, "%s:%llu:%llu %s '%s'", err.file, (unsigned long long)err.line,
               (unsigned long long)err.column, err.message, err.token);
      assert_string_equal(place, list[i].place);
      params.on_bad = FURROW_ON_BAD_SKIP;
      assert_int_equal(read_all(list[i].name, &params, &out, &stats, &err), FURROW_OK);
      assert_int_equal(stats.bad_rows, 13);
      assert_int_equal(stats.rows, 2000 - 13);
      assert_int_equal(stats.first_bad.line, 702);
      assert_int_equal(out.size, (2000 - 13) * 9);
      fw_buffer_clear(&out);
    }
    fw_buffer_clear(&text);
  }
}

/* Quotes that come after the head was looked at. */
static void late_quotes(void **state) {
  (void)state;
  fw_buffer text = {0}, out = {0};
  furrow_error err;
  const fw_table_scan_params params = {.threads = 2};
  fw_buffer_text(&text, "u,v\n");
  for (int k = 0; k < 20000; k++) fw_buffer_text(&text, "123,45\n");
  fw_buffer_text(&text, "\"a,b\",\"c\"\"\"\n");
  write_file("a.csv", text.bytes, text.size);
  assert_int_equal(read_all("a.csv", &params, &out, NULL, &err), FURROW_OK);
  assert_int_equal(out.size, 20000 * 9 + 9);
  assert_memory_equal(out.bytes + 20000 * 9, "3:a,b2:c\"", 9);
  fw_buffer_text(&text, "\"a\nb\",1\n");
  write_file("a.csv", text.bytes, text.size);
  assert_int_equal(read_all("a.csv", &params, &out, NULL, &err), FURROW_E_PARSE);
  assert_int_equal(err.line, 20003);
  assert_non_null(strstr(err.hint, "newlines=yes"));
  fw_buffer_reset(&out);
  assert_int_equal(read_all("a.csv?newlines=yes", &params, &out, NULL, &err), FURROW_OK);
  assert_int_equal(out.size, 20000 * 9 + 9 + 8);
  fw_buffer_clear(&text);
  fw_buffer_clear(&out);
}

/* ---- Pipes ---------------------------------------------------------------------------------------------- */

static furrow_status ignore(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                            furrow_error *err) {
  (void)piece;
  (void)cursor;
  (void)err;
  *(size_t *)user += batch->records;
  return FURROW_OK;
}

/* Standard input is read once, from its start, in pieces of any size. */
static void standard_input(void **state) {
  (void)state;
  static const char *const texts[] = {"u,v\n1,2\n3,4\n5,6\n", "u,v\n\"1\n\",2\n3,4\n5,6"};
  const int before = dup(0);
  for (size_t i = 0; i < 2; i++)
    for (size_t size = 0; size < 12; size++) {
      int ends[2];
      assert_int_equal(pipe(ends), 0);
      assert_int_equal(write(ends[1], texts[i], strlen(texts[i])), strlen(texts[i]));
      close(ends[1]);
      dup2(ends[0], 0);
      close(ends[0]);
      fw_table_source *source;
      fw_table *table;
      size_t records = 0;
      void *users[] = {&records};
      furrow_error err;
      const fw_table_scan_params params = {.threads = 1, .piece_bytes = size};
      assert_int_equal(fw_table_source_open(&source, "-", &err), FURROW_OK);
      assert_false(fw_table_source_repeats(source));
      const char *const names[] = {"v"};
      assert_int_equal(fw_table_create(&table, fw_table_source_layout(source), names, 1, NULL, &err), FURROW_OK);
      assert_int_equal(fw_table_scan(source, table, &params, users, ignore, NULL, &err), FURROW_OK);
      assert_int_equal(records, 3);
      assert_int_equal(fw_table_scan(source, table, &params, users, ignore, NULL, &err), FURROW_E_STATE);
      fw_table_free(table);
      fw_table_source_close(source);
    }
  dup2(before, 0);
  close(before);
}

static furrow_status stop_early(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  (void)user;
  (void)cursor;
  (void)batch;
  if (piece == 3 && err) snprintf(err->message, sizeof err->message, "enough");
  return piece == 3 ? FURROW_E_CANCELLED : FURROW_OK;
}

/* The caller ends a scan; a source is scanned again. */
static void stopped(void **state) {
  (void)state;
  fw_table_source *source;
  fw_table *table;
  furrow_error err;
  const fw_table_scan_params params = {.threads = 3, .piece_bytes = 10};
  assert_int_equal(fw_table_scan_threads(&params), 3);
  assert_true(fw_table_scan_threads(&(fw_table_scan_params){0}) >= 1);
  fw_buffer text = {0};
  for (int k = 0; k < 200; k++) fw_buffer_text(&text, "123,45\n");
  write_file("a.csv", text.bytes, text.size);
  fw_buffer_clear(&text);
  assert_int_equal(fw_table_source_open(&source, "a.csv", &err), FURROW_OK);
  assert_true(fw_table_source_repeats(source));
  assert_int_equal(fw_table_create(&table, fw_table_source_layout(source), NULL, 0, NULL, &err), FURROW_OK);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(fw_table_scan(source, table, &params, NULL, stop_early, NULL, &err), FURROW_E_CANCELLED);
    assert_string_equal(err.message, "enough");
  }
  fw_table_free(table);
  fw_table_source_close(source);
}

static int tests(void) {
  const struct CMUnitTest list[] = {
      cmocka_unit_test(random_tables),  cmocka_unit_test(tiny_pieces),     cmocka_unit_test(several_files),
      cmocka_unit_test(parts),          cmocka_unit_test(error_positions), cmocka_unit_test(late_quotes),
      cmocka_unit_test(standard_input), cmocka_unit_test(stopped),
  };
  return cmocka_run_group_tests(list, enter_dir, leave_dir);
}

int main(void) {
  return each_isa(tests);
}
