/* tests/fuzz/fuzz_table.c: any bytes as a text table, of any kind, or as typed columns (frames_harness.h).
 *
 * Delimited text is read by windows of marks, at every level of instructions, and by the definition of a cell: all
 * must give the same cells, and so must pieces of whole records. A line of JSON is a record if and only if the strict
 * reader takes it. The first byte chooses the kind and what is known of the text. */
#include <string.h>

#include "base/json_in.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz/harness/frames_harness.h"
#include "fuzz/harness/fuzz_check.h"
#include "fuzz/harness/isa_harness.h"
#include "kern/text/tokenizer.h"
#include "rows/table/text_table.h"
#include "rows/text/cells.h"

typedef struct reading {
  const fw_table *table;
  size_t slots;
  fw_buffer cells; /* of all records */
  uint64_t records, bad;
} reading;

static void add_cell(fw_buffer *out, const char *text, size_t length) {
  fw_buffer_format(out, "%zu:", length);
  fw_buffer_append(out, text, length);
}

static void add_batch(reading *r, const fw_table_batch *batch) {
  r->records += batch->records;
  for (size_t i = 0; i < batch->records; i++) {
    check(i == 0 || batch->begins[i] > batch->begins[i - 1]);
    for (size_t s = 0; s < r->slots; s++) {
      const fw_table_cell *cell = &fw_table_cells(batch, s)[i];
      check((cell->kind == FW_TABLE_MISSING) == (cell->length == 0));
      volatile char around = cell->text[-FW_KERN_PAD]; /* is readable */
      around = cell->text[cell->length + FW_KERN_PAD - 1];
      (void)around;
      add_cell(&r->cells, cell->text, cell->length);
    }
  }
}

/* Reads a piece that begins at text[at]; it has a copy with nothing around it but the padding. */
static void read_piece(reading *r, const char *text, size_t size, size_t at) {
  char *memory = malloc(size + 2 * FW_KERN_PAD);
  check(memory != NULL);
  memset(memory, '"', size + 2 * FW_KERN_PAD);
  memcpy(memory + FW_KERN_PAD, text, size);
  fw_table_batch batch;
  fw_chunk_stats stats = {0};
  fw_table_cursor cursor = {
      .text = memory + FW_KERN_PAD, .length = size, .at = at, .on_bad = FURROW_ON_BAD_SKIP, .stats = &stats};
  furrow_error err;
  check(fw_table_batch_init(&batch, r->table, &err) == FURROW_OK);
  furrow_status status;
  while ((status = fw_table_next(r->table, &cursor, &batch, &err)) == FURROW_OK) add_batch(r, &batch);
  check(status == FURROW_END && cursor.at == size);
  r->bad += stats.bad_rows;
  fw_table_batch_clear(&batch);
  free(memory);
}

/* ---- Delimited ------------------------------------------------------------------------------------------ */

/* A cell that is not UTF-8 is Windows-1252; one with a zero byte is not text. */
static void add_recoded(fw_buffer *cells, const char *text, size_t length) {
  char *utf8 = NULL;
  if (fw_utf8_check(text, text + length) && !memchr(text, 0, length)) {
    check(FW_ALLOC(&utf8, 3 * length, NULL) == FURROW_OK);
    length = fw_utf8_from_windows(text, length, utf8);
  }
  add_cell(cells, utf8 ? utf8 : text, length);
  fw_free(utf8);
}

/* Adds the record [line, end); false: it is bad. */
static bool add_record(reading *r, const fw_cell_rules *rules, const char *line, const char *end) {
  const size_t columns = fw_table_get_layout(r->table)->columns;
  const size_t before = r->cells.size;
  fw_cell cell = {0};
  size_t count = 0;
  bool good = true;
  for (const char *p = line; p && good; count += good) {
    good = fw_cell_next(rules, &p, end, &cell);
    if (!good || count >= columns) continue;
    const size_t length = (size_t)(cell.end - cell.begin);
    char *text = NULL;
    check(FW_ALLOC(&text, length + 1, NULL) == FURROW_OK);
    memcpy(text, cell.begin, length);
    add_recoded(&r->cells, text, cell.quoted ? fw_cell_unquote(cell.begin, cell.end, text) : length);
    fw_free(text);
  }
  if (good && end[-1] == rules->delimiter) {
    cell = (fw_cell){.begin = end, .end = end};
    if (count++ < columns) add_cell(&r->cells, "", 0);
  }
  good &= count == columns || (count == columns + 1 && !cell.quoted && cell.begin == cell.end);
  if (!good) r->cells.size = before;
  return good;
}

static void read_by_definition(reading *r, const fw_cell_rules *rules, const char *text, size_t size, size_t at) {
  const char *end = text + size;
  const bool lines = !fw_table_get_layout(r->table)->multiline;
  for (const char *p = text + at; p < end;) {
    const char *stop = fw_cell_record_end(rules, lines, p, end);
    if (!stop) stop = fw_cell_record_end(rules, true, p, end);
    if (!fw_cell_is_blank_line(rules, p, stop)) {
      const bool good = add_record(r, rules, p, stop);
      r->records += good;
      r->bad += !good;
    }
    p = fw_cell_line_begin(stop, end);
  }
}

static void require_same(const reading *a, const reading *b) {
  check(a->records == b->records && a->bad == b->bad && a->cells.size == b->cells.size);
  check(a->cells.size == 0 || memcmp(a->cells.bytes, b->cells.bytes, a->cells.size) == 0);
}

/* Pieces of whole records, the last of which is what is left. */
static void read_in_pieces(reading *r, const char *text, size_t size, size_t at, size_t piece) {
  fw_records records;
  if (!fw_table_layout_records(fw_table_get_layout(r->table), &records)) return;
  size_t begin = 0;
  for (size_t want = piece; begin < size; want = piece) {
    size_t cut = 0;
    while (cut == 0 && begin + want < size) {
      cut = records.cut(records.state, text + begin, want, begin);
      want *= 2;
    }
    if (cut == 0) cut = size - begin;
    read_piece(r, text + begin, cut, at > begin ? (at - begin < cut ? at - begin : cut) : 0);
    begin += cut;
  }
}

static void check_delimited(const reading *fast, const char *text, size_t size, size_t at, size_t piece) {
  const fw_table_layout *layout = fw_table_get_layout(fast->table);
  const fw_cell_rules rules = {.delimiter = layout->delimiter, .quotes = layout->quotes};
  reading careful = {.table = fast->table, .slots = fast->slots};
  read_by_definition(&careful, &rules, text, size, at);
  require_same(fast, &careful);
  fw_buffer_clear(&careful.cells);
  if (!layout->multiline) return;
  reading pieces = {.table = fast->table, .slots = fast->slots};
  read_in_pieces(&pieces, text, size, at, piece);
  require_same(fast, &pieces);
  fw_buffer_clear(&pieces.cells);
}

/* ---- JSON ----------------------------------------------------------------------------------------------- */

static bool is_json_object(const char *line, const char *end) {
  furrow_json json;
  furrow_error err;
  fw_json_open(&json, line, (size_t)(end - line), NULL);
  const bool good = furrow_json_peek(&json) == FURROW_JSON_OBJECT && furrow_json_skip(&json, NULL, &err) == FURROW_OK &&
                    furrow_json_end(&json, &err) == FURROW_OK;
  fw_json_close(&json);
  return good;
}

/* Keys that are there twice, the separator of lists, and what is nested too deep are not the strict reader's business.
 */
static bool can_compare(const char *line, const char *end) {
  size_t nested = 0, escapes = 0;
  for (const char *p = line; p < end; p++) {
    nested += *p == '{' || *p == '[';
    escapes += *p == '\\';
  }
  return nested < 60 && escapes == 0 && !fw_utf8_check(line, end);
}

static void check_json_line(const fw_table *table, size_t slots, const char *line, const char *end) {
  if (!can_compare(line, end)) return;
  reading one = {.table = table, .slots = slots};
  read_piece(&one, line, (size_t)(end - line), 0);
  const bool strict = is_json_object(line, end);
  check(one.records + one.bad <= 1);
  if (one.records == 1) check(strict);
  if (one.bad == 1 && strict) { /* only a key that occurs twice */
    size_t quotes = 0;
    for (const char *p = line; p < end; p++) quotes += *p == '"';
    check(quotes >= 4);
  }
  fw_buffer_clear(&one.cells);
}

static void check_json(const fw_table *table, size_t slots, const char *text, size_t size) {
  const char *end = text + size;
  for (const char *p = text; p < end;) {
    const char *stop = p;
    while (stop < end && *stop != '\n' && *stop != '\r') stop++;
    check_json_line(table, slots, p, stop);
    p = fw_cell_line_begin(stop, end);
  }
}

/* ---- One input ------------------------------------------------------------------------------------------ */

static fw_table_hints choose_hints(uint8_t selector) {
  static const char *const kinds[] = {NULL, "csv", "json", "vw"};
  static const char *const delimiters[] = {NULL, ",", "\\t", NULL};
  static const char *const answers[] = {NULL, "yes", "no", NULL};
  return (fw_table_hints){.kind = kinds[selector & 3],
                          .delimiter = delimiters[selector >> 2 & 3],
                          .header = answers[selector >> 4 & 3],
                          .newlines = answers[selector >> 6 & 3]};
}

static void check_levels(const reading *first, const char *text, size_t size, size_t at) {
  for (EACH_ISA(isa)) {
    reading other = {.table = first->table, .slots = first->slots};
    use_isa(isa);
    if (isa != next_isa(FW_ISA_GENERIC)) {
      read_piece(&other, text, size, at);
      require_same(first, &other);
    }
    fw_buffer_clear(&other.cells);
  }
}

static void read_table(const fw_table_layout *layout, const char *text, size_t size, size_t piece) {
  fw_table *table = NULL;
  size_t at = 0;
  check(fw_table_create(&table, layout, (const char *const *)layout->names, layout->columns, NULL, NULL) == FURROW_OK);
  check(fw_table_layout_skip_head(layout, text, size, &at, NULL) == FURROW_OK);
  reading fast = {.table = table, .slots = layout->columns};
  use_isa(next_isa(FW_ISA_GENERIC));
  read_piece(&fast, text, size, at);
  check_levels(&fast, text, size, at);
  if (layout->kind == FW_TABLE_DELIMITED) check_delimited(&fast, text, size, at, piece);
  if (layout->kind == FW_TABLE_JSON) check_json(table, layout->columns, text + at, size - at);
  fw_buffer_clear(&fast.cells);
  fw_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fw_frames_begin((const char *)data, size)) {
    try_frames(data, size);
    return 0;
  }
  if (size < 2 || fw_frames_begin((const char *)data + 2, size - 2)) return 0;
  const size_t length = size - 2;
  char *memory = malloc(length + 2 * FW_KERN_PAD);
  check(memory != NULL);
  memset(memory, 0, length + 2 * FW_KERN_PAD);
  char *text = memory + FW_KERN_PAD;
  memcpy(text, data + 2, length);
  const fw_table_hints hints = choose_hints(data[0]);
  fw_table_layout layout;
  furrow_error err;
  char *bare = malloc(length ? length : 1); /* a head has nothing readable around it */
  check(bare != NULL);
  memcpy(bare, text, length);
  const furrow_status status = fw_table_layout_find(&layout, &hints, bare, length, data[1] & 1, &err);
  free(bare);
  check(status == FURROW_OK || (status == FURROW_E_FORMAT && err.status == status && err.message[0] != 0));
  if (status == FURROW_OK) {
    read_table(&layout, text, length, 1 + data[1] / 2);
    fw_table_layout_clear(&layout);
  }
  free(memory);
  return 0;
}
