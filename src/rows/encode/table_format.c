/* rows/encode/table_format.c: the rows format `table`: a raw log, read through an encoder. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "columns/frames.h"
#include "rows/encode/history.h"
#include "rows/text/format.h"

typedef struct table_state {
  furrow_encoder *encoder;
  const furrow_args *args;
  fw_table_layout layout;
  fw_table *table;
  fw_history *history;   /* NULL: there is none */
  furrow_container *out; /* rows with their histories */
  bool with_label;
} table_state;

static const furrow_arg table_args[] = {
    {"encoder", FURROW_ARG_TEXT, "", NULL, "directory of schema.json and dictionary.furrow; a model has them, too"},
    {"kind", FURROW_ARG_ONE_OF, "auto", "auto|csv|tsv|json|vw", "what the text is"},
    {"delimiter", FURROW_ARG_TEXT, "auto", NULL, "between the columns of csv"},
    {"header", FURROW_ARG_ONE_OF, "auto", "auto|yes|no", "whether csv has one"},
    {"newlines", FURROW_ARG_ONE_OF, "auto", "auto|yes|no", "whether cells in quotes hold line ends"},
    {"quotes", FURROW_ARG_ONE_OF, "yes", "yes|no", "whether quotes enclose cells"},
    {"label", FURROW_ARG_ONE_OF, "required", "required|optional|none",
     "whether the label may be absent, or is not read"},
};

static void table_close(void *state) {
  table_state *s = state;
  fw_history_free(s->history);
  furrow_container_free(s->out);
  fw_table_free(s->table);
  fw_table_layout_clear(&s->layout);
  furrow_encoder_free(s->encoder);
  fw_free(s);
}

static furrow_status open_state(table_state *s, const furrow_args *args, furrow_error *err) {
  char *directory = NULL;
  const char *text = furrow_args_text(args, "encoder");
  if (!text[0]) {
    fw_fail(err, FURROW_E_ARGUMENT, "format table needs the argument encoder");
    fw_error_set_hint(err, "LOG?format=table&encoder=DIR, where DIR is a model or was made by furrow rows encode");
    return FURROW_E_ARGUMENT;
  }
  s->args = args;
  FW_TRY(fw_uri_decode(&directory, text, strlen(text), err));
  const furrow_status status = furrow_encoder_load(&s->encoder, directory, err);
  fw_free(directory);
  FW_TRY(status);
  if (s->encoder->schema->history == 0) return FURROW_OK;
  FW_TRY(fw_history_create(&s->history, &s->encoder->dictionary, s->encoder->schema->history, err));
  return FURROW_OK;
}

static furrow_status table_open(const furrow_args *args, void **state, furrow_error *err) {
  table_state *opened;
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  const furrow_status status = open_state(opened, args, err);
  return FW_HAND_OVER(status, state, opened, table_close);
}

/* ---- The columns of the log ---- */

static furrow_status fail_absent(const table_state *s, const char *absent, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "the log lacks columns that the schema has: %s", absent);
  if (s->layout.columns < 2 || !s->layout.header)
    fw_error_set_hint(err, "rows that are encoded already are read by their own format, such as libffm");
  return FURROW_E_FORMAT;
}

static bool is_label_optional(const table_state *s) {
  return strcmp(furrow_args_text(s->args, "label"), "required") != 0;
}

static bool is_label_read(const table_state *s) {
  return strcmp(furrow_args_text(s->args, "label"), "none") != 0;
}

static furrow_status check_columns(table_state *s, const bool *absent, furrow_error *err) {
  const fw_encode_view *view = &s->encoder->log;
  const bool optional = is_label_optional(s);
  fw_buffer names = {0};
  s->with_label = is_label_read(s);
  if (s->with_label && optional && !fw_table_is_complete(&s->layout) && view->label != SIZE_MAX)
    s->with_label = fw_table_layout_column(&s->layout, view->names[view->label]) != SIZE_MAX;
  for (size_t i = 0; i < view->slots; i++) {
    if (!absent[i]) continue;
    if (i == view->label && optional)
      s->with_label = false;
    else if (!(i == view->weight && optional))
      fw_buffer_format(&names, "%s%s", names.size ? ", " : "", view->names[i]);
  }
  const bool complete = names.size == 0;
  fw_buffer_byte(&names, 0);
  furrow_status status = fw_buffer_status(&names, err);
  if (status == FURROW_OK && !complete) status = fail_absent(s, names.bytes, err);
  fw_buffer_clear(&names);
  return status;
}

/* Whether any of the first records has a label; data for prediction may have none. */
static bool head_has_label(const table_state *s, const char *text, size_t size) {
  const fw_encode_view *view = &s->encoder->log;
  fw_chunk_stats stats = {0};
  fw_table_batch batch = {0};
  fw_table_cursor cursor = {.text = text, .length = size, .on_bad = FURROW_ON_BAD_SKIP, .stats = &stats};
  bool found = fw_table_layout_skip_head(&s->layout, text, size, &cursor.at, NULL) != FURROW_OK ||
               fw_table_batch_init(&batch, s->table, NULL) != FURROW_OK;
  furrow_status status = FURROW_OK;
  size_t records = 0;
  while (!found && (status = fw_table_next(s->table, &cursor, &batch, NULL)) == FURROW_OK) {
    for (size_t i = 0; i < batch.records && !found; i++)
      found = fw_table_cells(&batch, view->label)[i].kind != FW_TABLE_MISSING;
    records += batch.records;
  }
  found |= records == 0 || (status != FURROW_OK && status != FURROW_END);
  fw_table_batch_clear(&batch);
  return found; /* also if it cannot be decided: reading the records reports why */
}

static furrow_status find_label(table_state *s, const char *head, size_t size, bool whole, furrow_error *err) {
  fw_buffer text = {0};
  static const char pad[FW_KERN_PAD] = {0};
  if (!s->with_label || s->encoder->log.label == SIZE_MAX || !is_label_optional(s)) return FURROW_OK;
  if (s->layout.kind == FW_TABLE_COLUMNS) size = fw_frames_cut(NULL, head, size, 0);
  while (s->layout.kind != FW_TABLE_COLUMNS && !whole && size > 0 && head[size - 1] != '\n')
    size--; /* keep whole lines */
  fw_buffer_append(&text, pad, sizeof pad);
  fw_buffer_append(&text, head, size);
  if (s->layout.kind != FW_TABLE_COLUMNS && whole && size > 0 && head[size - 1] != '\n') fw_buffer_byte(&text, '\n');
  const size_t length = text.size - sizeof pad;
  fw_buffer_append(&text, pad, sizeof pad);
  const furrow_status status = fw_buffer_status(&text, err);
  if (status == FURROW_OK && length > 0) s->with_label = head_has_label(s, text.bytes + sizeof pad, length);
  fw_buffer_clear(&text);
  return status;
}

/* Columns of a log without a header are named by numbers. A first line of texts may then be a header or a record; a
 * wrong guess could silently lose it. */
static furrow_status check_header(const table_state *s, furrow_error *err) {
  const fw_encode_view *view = &s->encoder->log;
  const fw_table_layout *layout = &s->layout;
  if (!layout->header || strcmp(furrow_args_text(s->args, "header"), "auto") != 0) return FURROW_OK;
  for (size_t i = 0; i < view->slots; i++) {
    const char *name = view->names[i];
    if (fw_name_map_find(&layout->numbers, name, strlen(name)) != FW_NAME_NONE) continue;
    if (fw_table_layout_column(layout, name) == SIZE_MAX) continue;
    fw_fail(err, FURROW_E_FORMAT, "the first line may be a header: the schema names column %s by its number", name);
    fw_error_set_hint(err, "LOG?header=no if it is a record, LOG?header=yes if it is not");
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

static furrow_status table_look(void *state, const char *head, size_t size, bool whole, furrow_error *err) {
  table_state *s = state;
  const fw_encode_view *view = &s->encoder->log;
  const fw_table_hints hints = {.kind = furrow_args_text(s->args, "kind"),
                                .delimiter = furrow_args_text(s->args, "delimiter"),
                                .header = furrow_args_text(s->args, "header"),
                                .newlines = furrow_args_text(s->args, "newlines"),
                                .quotes = furrow_args_text(s->args, "quotes")};
  bool *absent = NULL;
  FW_TRY(fw_table_layout_find(&s->layout, &hints, head, size, whole, err));
  FW_TRY(check_header(s, err));
  FW_TRY(FW_ALLOC_ZERO(&absent, view->slots, err));
  furrow_status status = fw_table_create(&s->table, &s->layout, view->names, view->slots, absent, err);
  if (status == FURROW_OK) status = check_columns(s, absent, err);
  if (status == FURROW_OK) status = find_label(s, head, size, whole, err);
  fw_free(absent);
  return status;
}

static furrow_status table_skip_head(const void *state, const char *text, size_t length, size_t *skip,
                                     furrow_error *err) {
  return fw_table_layout_skip_head(&((const table_state *)state)->layout, text, length, skip, err);
}

static bool table_records(const void *state, fw_records *records) {
  bool given = false;
  fw_table_records(((const table_state *)state)->table, records, &given);
  return given;
}

static uint64_t table_row_number(const void *state, const char *text, size_t length, size_t at) {
  const table_state *s = state;
  return s->layout.kind == FW_TABLE_COLUMNS ? fw_table_columns_row(text, length, at) : 0;
}

/* ---- Rows ---- */

static furrow_status check_types(const table_state *s, const furrow_container *rows, furrow_error *err) {
  const fw_dictionary *d = &s->encoder->dictionary;
  if (rows->value_type != FURROW_VALUE_F32)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "rows of a table have values of type f32");
  if (rows->key_type == FURROW_KEY_U32 && d->features > UINT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "the dictionary has more features than fit into 32 bits");
  return FURROW_OK;
}

/* Short records that lack most columns of the model may have more features than bytes: they are returned in blocks of
 * about this many. */
#define BLOCK_MISSING ((size_t)1 << 16)

static furrow_status table_chunk(const void *state, fw_chunk *chunk, furrow_error *err) {
  const table_state *s = state;
  fw_table_batch batch = {0};
  fw_encode_scratch scratch = {0};
  fw_encode_out out = {.rows = chunk->out,
                       .with_label = s->with_label,
                       .events = chunk->events,
                       .event_capacity = chunk->event_capacity};
  fw_table_cursor cursor = {.text = chunk->text.lines,
                            .length = chunk->text.length,
                            .at = chunk->head,
                            .offset = chunk->text.offset,
                            .on_bad = chunk->on_bad,
                            .stats = &chunk->stats};
  FW_TRY(check_types(s, chunk->out, err));
  furrow_status status = fw_table_batch_init(&batch, s->table, err);
  while (status == FURROW_OK && (status = fw_table_next(s->table, &cursor, &batch, err)) == FURROW_OK) {
    status = fw_encode_batch(s->encoder, &s->encoder->log, s->table, &cursor, &batch, &scratch, &out, err);
    chunk->stats.missing = scratch.missing;
    if (status != FURROW_OK || scratch.missing <= BLOCK_MISSING + (cursor.at - chunk->head)) continue;
    if (cursor.at < cursor.length) chunk->rest = cursor.at;
    break;
  }
  chunk->events = out.events;
  chunk->event_capacity = out.event_capacity;
  fw_encode_scratch_clear(&scratch);
  fw_table_batch_clear(&batch);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status table_in_order(void *state, fw_chunk *chunk, furrow_error *err) {
  table_state *s = state;
  if (!s->history || chunk->out->rows == 0) return FURROW_OK;
  if (!s->out) FW_TRY(furrow_container_create(&s->out, chunk->out->key_type, chunk->out->value_type, err));
  FW_TRY(fw_history_add(s->history, chunk->events, chunk->out, s->out, err));
  furrow_container *with = s->out;
  s->out = chunk->out;
  chunk->out = with;
  return FURROW_OK;
}

static void table_rewind(void *state) {
  table_state *s = state;
  if (s->history) fw_history_rewind(s->history);
}

/* ---- The fields ---- */

static const char *table_column_name(const void *state, size_t column) {
  const fw_dictionary *d = &((const table_state *)state)->encoder->dictionary;
  return column < d->count ? d->fields[column].name : NULL;
}

static size_t table_column_count(const void *state) {
  return ((const table_state *)state)->encoder->dictionary.count;
}

/* The label has a name, but no number among the columns. */
static size_t table_special_column(const void *state, bool weight, const char **name) {
  const fw_encode_view *view = &((const table_state *)state)->encoder->log;
  const size_t slot = weight ? view->weight : view->label;
  if (slot != SIZE_MAX) *name = view->names[slot];
  return SIZE_MAX;
}

static bool table_sequential(const void *state) {
  return ((const table_state *)state)->history != NULL;
}

/* Registered as a format of lines, but parse_chunk reads them all. */
static furrow_status table_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  (void)state, (void)line, (void)length, (void)row;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "a table is not read line by line"); /* not covered: never called */
}

const fw_format fw_format_table = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "table",
               .description = "csv, tsv, JSON lines, Vowpal Wabbit's text, Parquet: a raw log through an encoder",
               .args = table_args,
               .nargs = sizeof table_args / sizeof *table_args,
               .open = table_open,
               .parse_line = table_line,
               .close = table_close},
    .parse_chunk = table_chunk,
    .look = table_look,
    .skip_head = table_skip_head,
    .records = table_records,
    .row_number = table_row_number,
    .in_order = table_in_order,
    .rewind = table_rewind,
    .sequential = table_sequential,
    .columns = FW_COLUMN_LABEL | FW_COLUMN_FIELD | FW_COLUMN_VALUE,
    .column_name = table_column_name,
    .column_count = table_column_count,
    .special_column = table_special_column,
};
