/* tests/fuzz/fuzz_columns.c: logs with many columns, made by a grammar: a schema is proposed, a dictionary learned, and
 * rows are read, with limits of memory and time that grow with the text.
 *
 * Few bytes choose the kind of the log, its columns and records, which columns a record has, and what its cells are. */
#include <string.h>

#include "base/buffer.h"
#include "furrow/furrow.h"
#include "fuzz/harness/fuzz_budget.h"
#include "fuzz/harness/fuzz_check.h"

#define LOG "memory://columns-log"
#define DIRECTORY "memory://columns-encoder"

enum { MOST_COLUMNS = 10010, MOST_RECORDS = 1 << 15, MOST_TEXT = 1 << 19 };

/* X(name): kinds of logs */
#define KINDS(X) X(JSON) X(NESTED) X(VW) X(CSV)
/* X(name): which columns record i has */
#define SHAPES(X)                                                  \
  X(ONE)   /* column i, then always the first */                   \
  X(ROUND) /* column i modulo all */                               \
  X(RUN)   /* a few neighbours, elsewhere in each record */        \
  X(COMB)  /* every n-th column */                                 \
  X(GROWN) /* all columns up to i */                               \
  X(RARE)  /* the first; now and then a record with all of them */ \
  X(NONE)  /* nothing, after a first record with all of them */

#define FW_X(name) KIND_##name,
typedef enum log_kind { KINDS(FW_X) KIND_COUNT } log_kind;
#undef FW_X
#define FW_X(name) SHAPE_##name,
typedef enum log_shape { SHAPES(FW_X) SHAPE_COUNT } log_shape;
#undef FW_X

typedef struct grammar {
  const uint8_t *cells; /* what the cells are, over and over */
  size_t cell_count, cell;
  log_kind kind;
  log_shape shape;
  size_t columns, records, step;
  fw_buffer text;
} grammar;

static bool has_column(const grammar *g, size_t i, size_t c) {
  switch (g->shape) {
  case SHAPE_ONE: return c == (i < g->columns ? i : 0);
  case SHAPE_ROUND: return c == i % g->columns;
  case SHAPE_RUN: return (c + g->columns - i * 37 % g->columns) % g->columns < g->step;
  case SHAPE_COMB: return c % g->step == i % g->step;
  case SHAPE_GROWN: return c <= i;
  case SHAPE_RARE: return c == 0 || i % (50 * g->step) == 0;
  default: return i == 0;
  }
}

/* The next column from c on that record i has; g->columns: none. Found without a search where a record has few. */
static size_t next_column(const grammar *g, size_t i, size_t c) {
  const size_t only = g->shape == SHAPE_ONE ? (i < g->columns ? i : 0) : i % g->columns;
  if (g->shape == SHAPE_ONE || g->shape == SHAPE_ROUND) return c <= only ? only : g->columns;
  if (g->shape == SHAPE_NONE && i > 0) return g->columns;
  if (g->shape == SHAPE_RARE && i % (50 * g->step) != 0) return c == 0 ? 0 : g->columns;
  while (c < g->columns && !has_column(g, i, c)) c++;
  return c;
}

static void put_cell(grammar *g, size_t i, size_t c) {
  const unsigned what = g->cell_count ? g->cells[g->cell++ % g->cell_count] : 0;
  const bool json = g->kind == KIND_JSON || g->kind == KIND_NESTED;
  static const char *const plain[] = {"1", "0.5", "x", "NA", "2024-05-31", "a|b", "1e300", "\x1f"};
  if (g->kind == KIND_VW)
    fw_buffer_format(&g->text, what & 8 ? "f%zu:0.5 g" : "f%zu", what & 1 ? i : c % 3);
  else if (what & 16 && json)
    fw_buffer_format(&g->text, what & 1 ? "[\"p\",\"q%zu\"]" : "[[%zu]]", i);
  else if (what & 32)
    fw_buffer_format(&g->text, json ? "\"t%zu\"" : "t%zu", i * g->columns + c);
  else if (json)
    fw_buffer_format(&g->text, what % 7 < 2 ? "%s" : "\"%s\"", plain[what % 7]);
  else
    fw_buffer_text(&g->text, plain[what % 7]);
}

static void put_json(grammar *g, size_t i) {
  bool first = true;
  fw_buffer_text(&g->text, "{");
  if (g->kind == KIND_NESTED) fw_buffer_format(&g->text, "\"%0*d\":{", (int)g->step, 0);
  for (size_t c = next_column(g, i, 0); c < g->columns; c = next_column(g, i, c + 1)) {
    fw_buffer_format(&g->text, "%s\"%zx\":", first ? "" : ",", c);
    put_cell(g, i, c);
    first = false;
  }
  fw_buffer_text(&g->text, g->kind == KIND_NESTED ? "}}\n" : "}\n");
}

static void put_vw(grammar *g, size_t i) {
  fw_buffer_format(&g->text, "%zu", i % 2);
  for (size_t c = next_column(g, i, 0); c < g->columns; c = next_column(g, i, c + 1)) {
    fw_buffer_format(&g->text, " |%zx ", c);
    put_cell(g, i, c);
  }
  fw_buffer_text(&g->text, i % g->step == 0 ? " |0 again\n" : " |\n");
}

static void put_csv(grammar *g, size_t i) {
  for (size_t c = 0; i == 0 && c < g->columns; c++) fw_buffer_format(&g->text, "%sc%zx", c ? "," : "", c);
  if (i == 0) fw_buffer_byte(&g->text, '\n');
  for (size_t c = 0; c < g->columns; c++) {
    if (c) fw_buffer_byte(&g->text, ',');
    if (has_column(g, i, c)) put_cell(g, i, c);
  }
  fw_buffer_byte(&g->text, '\n');
}

static void put_log(grammar *g) {
  for (size_t i = 0; i < g->records && g->text.size < MOST_TEXT; i++) {
    if (g->kind == KIND_VW)
      put_vw(g, i);
    else if (g->kind == KIND_CSV)
      put_csv(g, i);
    else
      put_json(g, i);
  }
}

static void read_rows(const furrow_encoder *encoder) {
  furrow_parser_params params;
  furrow_parser *parser = NULL;
  char *uri = NULL;
  check(furrow_encoder_save(encoder, DIRECTORY, true, NULL) == FURROW_OK);
  check(furrow_encoder_uri(LOG, DIRECTORY, &uri, NULL) == FURROW_OK);
  furrow_parser_params_init(&params);
  params.threads = 2;
  params.on_bad = FURROW_ON_BAD_SKIP;
  if (furrow_parser_open(&parser, uri, &params, NULL) == FURROW_OK) {
    furrow_status status;
    uint64_t rows = 0;
    while ((status = furrow_parser_next(parser, NULL)) == FURROW_OK) rows += furrow_parser_value(parser)->size;
    check(status == FURROW_END && rows <= MOST_RECORDS);
  }
  furrow_parser_close(parser);
  furrow_free(uri);
}

static void read_log(void) {
  furrow_schema_propose_params params;
  furrow_encoder_params build;
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_schema_propose_params_init(&params);
  params.label = "";
  params.threads = 2;
  params.on_bad = FURROW_ON_BAD_SKIP;
  furrow_encoder_params_init(&build);
  build.threads = 2;
  build.on_bad = FURROW_ON_BAD_SKIP;
  if (furrow_schema_propose(&schema, LOG, &params, NULL) == FURROW_OK &&
      furrow_encoder_build(&encoder, LOG, schema, &build, NULL) == FURROW_OK)
    read_rows(encoder);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { HEAD = 6 };
  if (size < HEAD) return 0;
  grammar g = {.cells = data + HEAD, .cell_count = size - HEAD};
  g.kind = data[0] % KIND_COUNT;
  g.shape = data[0] / KIND_COUNT % SHAPE_COUNT;
  g.columns = 1 + (data[1] * 256u + data[2]) % MOST_COLUMNS;
  g.records = 1 + (data[3] * 256u + data[4]) % MOST_RECORDS;
  g.step = 1 + data[5];
  put_log(&g);
  check(fw_buffer_status(&g.text, NULL) == FURROW_OK);
  check(furrow_memory_file_add(LOG, g.text.bytes, g.text.size, NULL, NULL, NULL) == FURROW_OK);
  fuzz_budget_begin();
  read_log();
  fuzz_budget_end(g.text.size, (size_t)64 << 20);
  check(furrow_memory_file_remove(LOG, NULL) == FURROW_OK);
  fw_buffer_clear(&g.text);
  return 0;
}
