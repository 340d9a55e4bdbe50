/* cli/model/cmd_model_dump.c: furrow model dump: prints a line for every element. */
#include <stddef.h>
#include <string.h>

#include "core/commands.h"
#include "model/model_source.h"

typedef struct dump_values {
  selection_values selected;
  reading_values reading;
  const char *path;
  uint64_t head;
  uint32_t threads;
  size_t memory;
  bool quiet; /* there are no notes to suppress, but scripts may pass it */
} dump_values;

static const option dump_operands[] = {{.name = "PATH",
                                        .kind = OPTION_TEXT,
                                        .help = "a matrix folder, or a model directory",
                                        .offset = offsetof(dump_values, path),
                                        .required = true,
                                        .watched = true},
                                       {0}};

static const option head_options[] = {
    {.name = "head", .kind = OPTION_U64, .argument = "N", .help = "stop after N lines"}, {0}};

static const option_group dump_groups[] = {
    {.title = "Selection", .options = selection_options, .offset = offsetof(dump_values, selected)},
    {.title = "Selection", .options = head_options, .offset = offsetof(dump_values, head)},
    {.title = "Reading", .options = reading_options, .offset = offsetof(dump_values, reading)},
    {.title = "Options", .options = memory_options, .offset = offsetof(dump_values, memory)},
    {.title = "Options", .options = threads_options, .offset = offsetof(dump_values, threads)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = quiet_options, .offset = offsetof(dump_values, quiet)},
    {0}};

static void dump_init(void *values) {
  dump_values *dump = values;
  reading_values_init(&dump->reading);
  dump->head = UINT64_MAX;
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

enum { LINE_TEXT = 2 * NUMBER_TEXT + FURROW_ELEMENT_TEXT + 3, LINES_AT_ONCE = 4096 };

typedef struct printing {
  output *out;
  uint64_t left; /* lines to print, at most */
} printing;

/* Prints columns first … end-1 of row r. */
static void print_some(output *out, const furrow_panel *panel, size_t r, size_t first, size_t end) {
  char row[NUMBER_TEXT + 1] = "";
  char *row_end = put_i64(row, panel->row_ids[r]);
  *row_end++ = '\t';
  size_t row_length = (size_t)(row_end - row);
  char *at = output_reserve(out, (end - first) * LINE_TEXT);
  for (size_t c = first; c < end; c++) {
    memcpy(at, row, sizeof row);
    at = put_i64(at + row_length, furrow_panel_col(panel, c));
    *at++ = '\t';
    at += furrow_element_to_text(panel->values, panel->type, c * panel->rows + r, at);
    *at++ = '\n';
  }
  output_upto(out, at);
}

static furrow_status print_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  printing *p = user;
  (void)part;
  for (size_t r = 0; r < panel->rows; r++) {
    for (size_t c = 0; c < panel->cols && p->left > 0;) {
      size_t count = panel->cols - c < LINES_AT_ONCE ? panel->cols - c : LINES_AT_ONCE;
      if (count > p->left) count = (size_t)p->left;
      print_some(p->out, panel, r, c, c + count);
      c += count;
      p->left -= count;
    }
  }
  if (p->out->errnum) return output_flush(p->out, err);
  return p->left > 0 ? FURROW_OK : FURROW_END;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status dump_matrix(const dump_values *dump, const furrow_model_entry *matrix, output *out,
                                 furrow_error *err) {
  furrow_matrix_source_params params = reading_params(&dump->reading);
  furrow_matrix_source *source = NULL;
  selected chosen = {0};
  printing p = {out, dump->head};
  furrow_matrix_scan_params scan;
  furrow_matrix_scan_params_init(&scan);
  scan.selection = &chosen.selection;
  scan.threads = dump->threads;
  scan.memory = dump->memory;
  furrow_status status = furrow_matrix_source_open(&source, matrix->folder, &params, err);
  if (status == FURROW_OK) status = selection_make(&chosen, &dump->selected, matrix, 1, dump->reading.meta_name, err);
  if (status == FURROW_OK && p.left > 0)
    status = furrow_matrix_for_each_panel_sorted(source, &scan, print_panel, &p, err);
  selection_clear(&chosen);
  furrow_matrix_source_close(source);
  return status == FURROW_END ? FURROW_OK : status; /* enough was printed, or the reader closed the pipe */
}

static furrow_status dump_run(const void *values, output *out, furrow_error *err) {
  const dump_values *dump = values;
  const furrow_model_entry *matrix = NULL;
  furrow_model_listing *listing = NULL;
  furrow_status status = furrow_model_listing_load(&listing, dump->path, err);
  if (status == FURROW_OK) status = choose_matrix(listing, dump->selected.matrix, &matrix, err);
  if (status == FURROW_OK) status = dump_matrix(dump, matrix, out, err);
  furrow_model_listing_free(listing);
  return status;
}

const command model_dump_command = {
    .name = "dump",
    .summary = "print the elements, one per line",
    .example = "furrow model dump lr/input_weight\n"
               "furrow model dump deepfm --matrix embedding_embedding --cols 4711 --rows 0:8\n"
               "furrow model dump lr --matrix input_weight --sep '\\t' | head",
    .about =
        "Each line is row TAB column TAB value, sorted by row, then by column. Floats are printed as %.9g, doubles as "
        "%.17g, special values as NaN, Infinity and -Infinity. Elements that the files do not store are not printed.",
    .operands = dump_operands,
    .groups = dump_groups,
    .size = sizeof(dump_values),
    .init = dump_init,
    .run = dump_run,
};
