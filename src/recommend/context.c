/* recommend/context.c: rows put together from those of a user, an item and a context. */
#include "recommend/context.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Joining -------------------------------------------------------------------------------------------- */

static furrow_status ensure_capacity(fw_joiner *joiner, size_t count, furrow_error *err) {
  if (count <= joiner->capacity) return FURROW_OK;
  FW_TRY(fw_realloc((void **)&joiner->fields, count, sizeof *joiner->fields, err));
  FW_TRY(fw_realloc((void **)&joiner->indices, count, sizeof *joiner->indices, err));
  FW_TRY(fw_realloc((void **)&joiner->values, count, sizeof *joiner->values, err));
  joiner->capacity = count;
  return FURROW_OK;
}

/* Behind all features whose field is not above its own. Parts are in order, so few have to move. */
static void insert(fw_joiner *joiner, size_t count, uint64_t field, uint64_t index, float value) {
  size_t at = count;
  for (; at > 0 && joiner->fields[at - 1] > field; at--) {
    joiner->fields[at] = joiner->fields[at - 1];
    joiner->indices[at] = joiner->indices[at - 1];
    joiner->values[at] = joiner->values[at - 1];
  }
  joiner->fields[at] = field;
  joiner->indices[at] = index;
  joiner->values[at] = value;
}

static furrow_status push(const fw_joiner *joiner, size_t length, furrow_container *rows, furrow_error *err) {
  const furrow_row row = {.length = length,
                          .field.u64 = joiner->fields,
                          .index.u64 = joiner->indices,
                          .value.f32 = joiner->values,
                          .key_type = FURROW_KEY_U64,
                          .value_type = FURROW_VALUE_F32};
  return furrow_container_push_row(rows, &row, err);
}

furrow_status fw_joiner_push(fw_joiner *joiner, const furrow_row *parts, size_t count, furrow_container *rows,
                             furrow_error *err) {
  size_t all = 0, length = 0;
  for (size_t p = 0; p < count; p++) all += parts[p].length;
  FW_TRY(ensure_capacity(joiner, all, err));
  for (size_t p = 0; p < count; p++)
    for (size_t i = 0; i < parts[p].length; i++)
      insert(joiner, length++, furrow_row_get_field(&parts[p], i), furrow_row_get_index(&parts[p], i),
             (float)furrow_row_get_value(&parts[p], i));
  return push(joiner, all, rows, err);
}

void fw_joiner_clear(fw_joiner *joiner) {
  fw_free(joiner->fields);
  fw_free(joiner->indices);
  fw_free(joiner->values);
  *joiner = (fw_joiner){0};
}

/* ---- Context -------------------------------------------------------------------------------------------- */

/* Whether a field is made of the column alone: it has its name, or is a part of it ("time.hour"). */
static bool is_of_column(const char *field, const char *column) {
  const size_t length = strlen(column);
  return strncmp(field, column, length) == 0 && (field[length] == 0 || (field[length] == '.' && !strstr(field, " x ")));
}

static bool is_context(const furrow_encoder *encoder, uint64_t field, const char *column) {
  furrow_encoder_field about;
  if (field >= furrow_encoder_field_count(encoder)) return false;
  furrow_encoder_get_field(encoder, field, &about);
  return about.side == FURROW_SIDE_CONTEXT && is_of_column(about.name, column);
}

static furrow_status check_column(const furrow_encoder *encoder, const char *column, furrow_error *err) {
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++)
    if (is_context(encoder, i, column)) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT,
          "not a column of the context: the model has no feature of it that is neither the "
          "user's nor the item's");
  fw_error_set_token(err, column, strlen(column));
  return FURROW_E_ARGUMENT;
}

static bool is_given(const furrow_encoder *encoder, uint64_t field, const furrow_pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (is_context(encoder, field, pairs[i].column)) return true;
  return false;
}

static furrow_status copy_given(const furrow_encoder *encoder, const furrow_row *event, const furrow_pair *pairs,
                                size_t count, fw_joiner *joiner, furrow_container *rows, furrow_error *err) {
  size_t length = 0;
  FW_TRY(ensure_capacity(joiner, event->length, err));
  for (size_t i = 0; i < event->length; i++)
    if (is_given(encoder, furrow_row_get_field(event, i), pairs, count))
      insert(joiner, length++, furrow_row_get_field(event, i), furrow_row_get_index(event, i),
             (float)furrow_row_get_value(event, i));
  return push(joiner, length, rows, err);
}

furrow_status fw_context_make(const furrow_recommender *r, const furrow_pair *pairs, size_t count,
                              furrow_container **rows, furrow_rowblock *block, furrow_error *err) {
  furrow_container *event = NULL;
  furrow_rowblock events;
  fw_joiner joiner = {0};
  for (size_t i = 0; i < count; i++) FW_TRY(check_column(r->encoder, pairs[i].column, err));
  furrow_status status = fw_recommender_make_rows(r, &event, err);
  if (status == FURROW_OK) status = fw_recommender_make_rows(r, rows, err);
  if (status == FURROW_OK) status = furrow_encoder_push_event(r->encoder, pairs, count, event, err);
  if (status == FURROW_OK) status = furrow_container_get_block(event, &events, err);
  if (status == FURROW_OK) {
    const furrow_row row = furrow_rowblock_row(&events, 0);
    status = copy_given(r->encoder, &row, pairs, count, &joiner, *rows, err);
  }
  if (status == FURROW_OK) status = furrow_container_get_block(*rows, block, err);
  fw_joiner_clear(&joiner);
  furrow_container_free(event);
  return status;
}
