/* tests/interop/programs/table_dump.c: prints a text table as the reader sees it, one JSON array for the names and for
 * each record: null for a missing cell, an array for a list. URI [threads [piece]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "rows/table/text_table.h"

/* The records of one piece. */
typedef struct dump {
  fw_buffer *pieces;
  size_t npieces, slots;
} dump;

static void dump_list(fw_buffer *out, const fw_table_cell *cell) {
  const char *p = cell->text, *end = cell->text + cell->length;
  fw_buffer_byte(out, '[');
  for (;;) {
    const char *stop = memchr(p, FW_TABLE_LIST_SEPARATOR, (size_t)(end - p));
    fw_buffer_json_string(out, p, (size_t)((stop ? stop : end) - p), false);
    if (!stop) break;
    fw_buffer_byte(out, ',');
    p = stop + 1;
  }
  fw_buffer_byte(out, ']');
}

static void dump_cell(fw_buffer *out, const fw_table_cell *cell) {
  if (cell->kind == FW_TABLE_MISSING)
    fw_buffer_text(out, "null");
  else if (cell->kind == FW_TABLE_LIST)
    dump_list(out, cell);
  else
    fw_buffer_json_string(out, cell->text, cell->length, false);
}

static furrow_status take(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                          furrow_error *err) {
  dump *d = user;
  (void)cursor;
  (void)err;
  if (piece >= d->npieces) return FURROW_E_RANGE;
  fw_buffer *out = &d->pieces[piece];
  for (size_t r = 0; r < batch->records; r++) {
    fw_buffer_byte(out, '[');
    for (size_t s = 0; s < d->slots; s++) {
      if (s) fw_buffer_byte(out, ',');
      dump_cell(out, &fw_table_cells(batch, s)[r]);
    }
    fw_buffer_text(out, "]\n");
  }
  return FURROW_OK;
}

static int fail(const furrow_error *error) {
  fprintf(stderr, "%s:%llu:%llu: %s: %s '%s'\n", error->file, (unsigned long long)error->line,
          (unsigned long long)error->column, furrow_status_name(error->status), error->message, error->token);
  if (error->hint[0]) fprintf(stderr, "hint: %s\n", error->hint);
  return 1;
}

static furrow_status print_all(fw_table_source *source, const fw_table_scan_params *params, dump *d,
                               furrow_error *err) {
  const fw_table_layout *layout = fw_table_source_layout(source);
  fw_table *table = NULL;
  void *users[64];
  for (size_t i = 0; i < 64; i++) users[i] = d;
  fw_buffer names = {0};
  for (size_t i = 0; i < layout->columns; i++) {
    fw_buffer_byte(&names, i ? ',' : '[');
    fw_buffer_json_string(&names, layout->names[i], strlen(layout->names[i]), false);
  }
  printf("%.*s]\n", (int)names.size, names.bytes);
  fw_buffer_clear(&names);
  d->slots = layout->columns;
  furrow_status status =
      fw_table_create(&table, layout, (const char *const *)layout->names, layout->columns, NULL, err);
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  if (status == FURROW_OK) status = fw_table_scan(source, table, params, users, take, &stats, err);
  for (size_t i = 0; i < d->npieces && status == FURROW_OK; i++)
    if (d->pieces[i].size) fwrite(d->pieces[i].bytes, 1, d->pieces[i].size, stdout);
  if (stats.bad_rows > 0) fprintf(stderr, "%llu bad\n", (unsigned long long)stats.bad_rows);
  fw_table_free(table);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  fw_table_source *source = NULL;
  furrow_error error;
  const fw_table_scan_params params = {.threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1,
                                       .piece_bytes = argc > 3 ? (size_t)atol(argv[3]) : 0,
                                       .on_bad = argc > 4 ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR};
  dump d = {.npieces = 1 << 20};
  d.pieces = calloc(d.npieces, sizeof(fw_buffer));
  if (!d.pieces) return 2;
  if (fw_table_source_open(&source, argv[1], &error) != FURROW_OK) return fail(&error);
  const furrow_status status = print_all(source, &params, &d, &error);
  fw_table_source_close(source);
  for (size_t i = 0; i < d.npieces; i++) fw_buffer_clear(&d.pieces[i]);
  free(d.pieces);
  return status == FURROW_OK ? 0 : fail(&error);
}
