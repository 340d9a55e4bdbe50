/* rows/encode/encoder_events.c: encodes events that come one by one, or a few at a time, as JSON lines in memory.
 *
 * A reader keeps the memory of a batch, so an event needs no allocation. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "rows/encode/encoder.h"

struct furrow_event_reader {
  const furrow_encoder *encoder;
  fw_encode_view view;
  fw_table_batch batch;
  fw_encode_scratch scratch;
  fw_encode_out out;
  fw_buffer text; /* with padding */
  furrow_rowblock block;
};

static const char pad[FW_KERN_PAD] = {0};

furrow_status furrow_event_reader_create(furrow_event_reader **reader, const furrow_encoder *encoder,
                                         furrow_error *err) {
  furrow_event_reader *made;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->encoder = encoder;
  made->view = encoder->log;
  made->view.time = SIZE_MAX; /* the history at the end of the training data is used, so events need no time */
  furrow_status status = fw_table_batch_init(&made->batch, encoder->events, err);
  if (status == FURROW_OK) status = furrow_container_create(&made->out.rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  return FW_HAND_OVER(status, reader, made, furrow_event_reader_free);
}

void furrow_event_reader_free(furrow_event_reader *reader) {
  if (!reader) return;
  fw_table_batch_clear(&reader->batch);
  fw_encode_scratch_clear(&reader->scratch);
  furrow_container_free(reader->out.rows);
  fw_free(reader->out.events);
  fw_buffer_clear(&reader->text);
  fw_free(reader);
}

/* ---- Columns that no field has ---- */

/* Columns of the schema without a feature are not read, but an event may have them, like a line of the log. */
static bool is_ignored(const furrow_encoder *encoder, const char *name) {
  const fw_column *column = fw_schema_find(encoder->schema, name);
  return column && (column->kind == FW_AS_IGNORE || (column->kind == FW_AS_TIME && !column->parts));
}

static bool is_log_column(const furrow_encoder *encoder, const char *name) {
  return is_ignored(encoder, name) || fw_name_map_find(&encoder->log.numbers, name, strlen(name)) != FW_NAME_NONE;
}

static furrow_status check_column(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err) {
  const furrow_encoder *encoder = user;
  char text[256] = "";
  fw_suggestion near = {NULL, SIZE_MAX};
  if (length < sizeof text) memcpy(text, name, length);
  if (*text && strlen(text) == length && is_log_column(encoder, text)) return FURROW_OK;
  char *dot = strchr(text, '.');
  if (dot) *dot = 0; /* an object in an ignored column */
  if (dot && is_ignored(encoder, text)) return FURROW_OK;
  if (dot) *dot = '.';
  fw_fail(err, FURROW_E_ARGUMENT, "the model's log has no column of that name");
  fw_error_set_token(err, name, length);
  for (size_t i = 0; i < encoder->log.slots; i++) fw_suggestion_offer(&near, text, encoder->log.names[i]);
  if (fw_suggestion_is_near(&near, text)) fw_error_set_hint(err, "did you mean %s?", near.word);
  if (err) err->offset = offset;
  return FURROW_E_ARGUMENT;
}

/* ---- Lines ---- */

static furrow_status read_batch(furrow_event_reader *r, fw_table_cursor *cursor, furrow_error *err) {
  const fw_dictionary *d = &r->encoder->dictionary;
  r->out.event_count = 0;
  r->batch.records = 0;
  FW_TRY(fw_table_next(r->encoder->events, cursor, &r->batch, err));
  FW_TRY(fw_encode_batch(r->encoder, &r->view, r->encoder->events, cursor, &r->batch, &r->scratch, &r->out, err));
  return d->history_users > 0 ? fw_encoder_add_history(d, r->out.events[0].user, r->out.rows, err) : FURROW_OK;
}

/* Reads r->text. If there is a history, lines are read one by one, because its items are appended to the last row. */
static furrow_status read_text(furrow_event_reader *r, furrow_error *err) {
  const size_t end = r->text.size - 2 * FW_KERN_PAD;
  fw_table_cursor cursor = {
      .text = r->text.bytes + FW_KERN_PAD, .other_column = check_column, .user = (void *)r->encoder};
  furrow_status status = FURROW_OK;
  furrow_container_clear(r->out.rows);
  while (status == FURROW_OK && cursor.at < end) {
    const char *line = cursor.text + cursor.at;
    const bool alone = r->encoder->dictionary.history_users > 0;
    cursor.length = alone ? (size_t)((const char *)memchr(line, '\n', end - cursor.at) + 1 - cursor.text) : end;
    status = read_batch(r, &cursor, err);
    if (status == FURROW_END) status = FURROW_OK; /* a blank line */
  }
  return status == FURROW_OK ? furrow_container_get_block(r->out.rows, &r->block, err) : status;
}

/* Finds the number of the line of an error. */
static void count_lines(const furrow_event_reader *r, furrow_error *err) {
  if (!err || err->offset >= r->text.size - 2 * FW_KERN_PAD) return;
  const char *text = r->text.bytes + FW_KERN_PAD;
  err->line = 1;
  for (uint64_t i = 0; i < err->offset; i++) err->line += text[i] == '\n';
}

furrow_status furrow_event_reader_read(furrow_event_reader *reader, const char *lines, size_t size,
                                       const furrow_rowblock **block, furrow_error *err) {
  fw_buffer *text = &reader->text;
  fw_buffer_reset(text);
  fw_buffer_append(text, pad, sizeof pad);
  fw_buffer_append(text, lines, size);
  if (size > 0 && lines[size - 1] != '\n') fw_buffer_byte(text, '\n');
  fw_buffer_append(text, pad, sizeof pad);
  furrow_status status = fw_buffer_status(text, err);
  reader->out.with_label = false;
  if (status == FURROW_OK) {
    status = read_text(reader, err);
    if (status != FURROW_OK) count_lines(reader, err);
  }
  if (status == FURROW_OK) *block = &reader->block;
  return status;
}

/* ---- One event ---- */

static furrow_status check_pairs(const furrow_encoder *encoder, const furrow_pair *pairs, size_t count,
                                 furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    FW_TRY(check_column((void *)encoder, pairs[i].column, strlen(pairs[i].column), FURROW_NO_OFFSET, err));
    for (size_t k = 0; k < i; k++) {
      if (strcmp(pairs[k].column, pairs[i].column) != 0) continue;
      fw_fail(err, FURROW_E_ARGUMENT, "the column is given twice");
      fw_error_set_token(err, pairs[i].column, strlen(pairs[i].column));
      return FURROW_E_ARGUMENT;
    }
  }
  return FURROW_OK;
}

/* Writes the event as a line of JSON, which is read like any other. */
static furrow_status write_event(furrow_event_reader *r, const furrow_pair *pairs, size_t count, furrow_error *err) {
  const fw_encode_view *view = &r->view;
  fw_buffer *line = &r->text;
  fw_buffer_append(line, pad, sizeof pad);
  fw_buffer_byte(line, '{');
  for (size_t i = 0; i < count; i++) {
    if (!pairs[i].value) continue;
    if (line->size > sizeof pad + 1) fw_buffer_byte(line, ',');
    fw_buffer_json_string(line, pairs[i].column, strlen(pairs[i].column), false);
    fw_buffer_byte(line, ':');
    fw_buffer_json_string(line, pairs[i].value, strlen(pairs[i].value), false);
    if (view->label != SIZE_MAX && strcmp(view->names[view->label], pairs[i].column) == 0) r->out.with_label = true;
  }
  fw_buffer_text(line, "}\n");
  fw_buffer_append(line, pad, sizeof pad);
  return fw_buffer_status(line, err);
}

static furrow_status push_row(furrow_event_reader *r, furrow_container *rows, furrow_error *err) {
  furrow_container *made = r->out.rows;
  if (!r->out.with_label) ((float *)made->label)[0] = 0;
  made->has_label = true;
  const furrow_rowblock block = fw_container_block(made);
  return furrow_container_push_block(rows, &block, err);
}

furrow_status furrow_encoder_push_event(const furrow_encoder *encoder, const furrow_pair *pairs, size_t count,
                                        furrow_container *rows, furrow_error *err) {
  furrow_event_reader *reader = NULL;
  FW_TRY(check_pairs(encoder, pairs, count, err));
  FW_TRY(furrow_event_reader_create(&reader, encoder, err));
  furrow_status status = write_event(reader, pairs, count, err);
  if (status == FURROW_OK) status = read_text(reader, err);
  if (status == FURROW_OK) status = push_row(reader, rows, err);
  if (err && status != FURROW_OK) { /* offsets would refer to the generated line */
    err->offset = FURROW_NO_OFFSET;
    err->column = 0;
  }
  furrow_event_reader_free(reader);
  return status;
}
