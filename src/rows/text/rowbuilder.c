/* rows/text/rowbuilder.c: builds one row from its parts. */
#include "rows/text/rowbuilder.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number_in.h"
#include "rows/block/elements.h"

static void store_number(furrow_value_type type, void *column, size_t i, fw_number number) {
  switch (type) {
  case FURROW_VALUE_F32: ((float *)column)[i] = number.f32; break;
  case FURROW_VALUE_I32: ((int32_t *)column)[i] = (int32_t)number.i64; break;
  case FURROW_VALUE_I64: ((int64_t *)column)[i] = number.i64; break;
  }
}

static furrow_status number_of(furrow_value_type type, double value, fw_number *number, furrow_error *err) {
  if (type == FURROW_VALUE_F32) {
    number->f32 = (float)value;
    if (isfinite(value) && isinf(number->f32)) return fw_fail(err, FURROW_E_RANGE, "%.17g is too large for f32", value);
    return FURROW_OK;
  }
  double limit = type == FURROW_VALUE_I32 ? 0x1p31 : 0x1p63;
  if (!(value >= -limit && value < limit) || value != floor(value))
    return fw_fail(err, FURROW_E_RANGE, "%.17g is not a value of type %s", value, furrow_value_type_name(type));
  number->i64 = (int64_t)value;
  return FURROW_OK;
}

furrow_status fw_rowbuilder_set_label(furrow_rowbuilder *row, fw_number label, furrow_error *err) {
  furrow_container *out = row->out;
  FW_TRY(fw_container_reserve(out, out->rows + 1, out->features, FW_COLUMN_LABEL, err));
  store_number(out->value_type, out->label, out->rows, label);
  row->touched = row->has_label = true;
  return FURROW_OK;
}

furrow_status furrow_rowbuilder_label(furrow_rowbuilder *row, double label, furrow_error *err) {
  fw_number number;
  furrow_status status = number_of(row->out->value_type, label, &number, err);
  return status == FURROW_OK ? fw_rowbuilder_set_label(row, number, err) : status;
}

furrow_status furrow_rowbuilder_weight(furrow_rowbuilder *row, float weight, furrow_error *err) {
  furrow_container *out = row->out;
  FW_TRY(fw_container_reserve(out, out->rows + 1, out->features, FW_COLUMN_WEIGHT, err));
  out->weight[out->rows] = weight;
  row->touched = row->has_weight = true;
  return FURROW_OK;
}

furrow_status furrow_rowbuilder_qid(furrow_rowbuilder *row, uint64_t qid, furrow_error *err) {
  furrow_container *out = row->out;
  FW_TRY(fw_container_reserve(out, out->rows + 1, out->features, FW_COLUMN_QID, err));
  out->qid[out->rows] = qid;
  row->touched = row->has_qid = true;
  return FURROW_OK;
}

/* Called for the first feature of the block that has a field: earlier features get field 0. */
static furrow_status start_fields(furrow_rowbuilder *row, furrow_error *err) {
  furrow_container *out = row->out;
  size_t used = out->features + row->features;
  FW_TRY(fw_container_reserve(out, out->rows + 1, used + 1, FW_COLUMN_FIELD, err));
  memset(out->field, 0, used * furrow_key_size(out->key_type));
  out->has_field = true;
  return FURROW_OK;
}

furrow_status fw_rowbuilder_add(furrow_rowbuilder *row, const uint64_t *field, uint64_t index, const fw_number *value,
                                furrow_error *err) {
  furrow_container *out = row->out;
  const size_t at = out->features + row->features;
  if (out->key_type == FURROW_KEY_U32 && (index > UINT32_MAX || (field && *field > UINT32_MAX)))
    return fw_fail(err, FURROW_E_RANGE, "%s %llu does not fit in 32 bits", index > UINT32_MAX ? "index" : "field",
                   (unsigned long long)(index > UINT32_MAX ? index : *field));
  furrow_status status = FURROW_OK;
  if (field && !out->has_field) status = start_fields(row, err);
  if (status == FURROW_OK) status = fw_container_reserve(out, out->rows + 1, at + 1, FW_COLUMN_VALUE, err);
  if (status != FURROW_OK) return status;
  fw_store_index(out->key_type, out->index, at, index);
  if (out->has_field) fw_store_index(out->key_type, out->field, at, field ? *field : 0);
  const fw_number one = {.f32 = 1, .i64 = 1};
  store_number(out->value_type, out->value, at, value ? *value : one);
  row->has_value |= value != NULL;
  row->features++;
  row->touched = true;
  return FURROW_OK;
}

furrow_status furrow_rowbuilder_feature(furrow_rowbuilder *row, uint64_t index, double value, furrow_error *err) {
  fw_number number;
  furrow_status status = number_of(row->out->value_type, value, &number, err);
  return status == FURROW_OK ? fw_rowbuilder_add(row, NULL, index, &number, err) : status;
}

furrow_status furrow_rowbuilder_feature_of_field(furrow_rowbuilder *row, uint64_t field, uint64_t index, double value,
                                                 furrow_error *err) {
  fw_number number;
  furrow_status status = number_of(row->out->value_type, value, &number, err);
  return status == FURROW_OK ? fw_rowbuilder_add(row, &field, index, &number, err) : status;
}

furrow_status fw_rowbuilder_commit(furrow_rowbuilder *row, furrow_error *err) {
  furrow_container *out = row->out;
  if (out->rows > 0 && row->has_label != out->has_label)
    return fw_fail_at(err, FURROW_E_PARSE, row->line, row->line, row->line,
                      row->has_label ? "this row has a label, the rows before it have none" : "the row has no label");
  const unsigned all = FW_COLUMN_LABEL | FW_COLUMN_WEIGHT | FW_COLUMN_QID | FW_COLUMN_VALUE;
  FW_TRY(fw_container_reserve(out, out->rows + 1, out->features + row->features, all, err));
  if (!row->has_weight) out->weight[out->rows] = 1;
  if (!row->has_qid) out->qid[out->rows] = 0;
  out->has_label = row->has_label;
  out->has_weight |= row->has_weight;
  out->has_qid |= row->has_qid;
  out->has_value |= row->has_value;
  out->features += row->features;
  out->rows++;
  out->offset[out->rows] = out->features;
  return FURROW_OK;
}

void fw_rowbuilder_ignore(furrow_rowbuilder *row, const char *text, const char *end, const char *why) {
  if (row->stats->ignored++ > 0) return;
  furrow_error *first = &row->stats->first_ignored;
  (void)fw_fail_at(first, FURROW_OK, row->line, text, end, why);
  first->offset = row->line_offset;
}

furrow_status fw_fail_at(furrow_error *err, furrow_status status, const char *line, const char *at, const char *end,
                         const char *message) {
  (void)fw_fail(err, status, "%s", message);
  fw_error_set_token(err, at, (size_t)(end - at));
  if (err) err->column = (uint64_t)(at - line) + 1;
  return status;
}

static const char *token_end(const char *s, const char *end) {
  while (s < end && !fw_is_blank(*s) && !fw_is_line_end(*s)) s++;
  return s;
}

furrow_status fw_read_number(furrow_value_type type, const char *line, const char *s, const char *end,
                             fw_number *number, const char **after, furrow_error *err) {
  const char *p = NULL;
  bool overflow = false;
  fw_number n = {0};
  switch (type) {
  case FURROW_VALUE_F32: p = fw_read_f32(s, end, &n.f32); break;
  case FURROW_VALUE_I32: {
    int32_t small = 0;
    p = fw_read_i32(s, end, &small, &overflow);
    n.i64 = small;
    break;
  }
  case FURROW_VALUE_I64: p = fw_read_i64(s, end, &n.i64, &overflow); break;
  }
  if (!p)
    return fw_fail_at(err, FURROW_E_PARSE, line, s, token_end(s, end),
                      type == FURROW_VALUE_F32 ? "not a number" : "not an integer");
  if (overflow)
    return fw_fail_at(err, FURROW_E_RANGE, line, s, token_end(s, end),
                      type == FURROW_VALUE_I32 ? "the integer does not fit in 32 bits"
                                               : "the integer does not fit in 64 bits");
  *number = n;
  *after = p;
  return FURROW_OK;
}
