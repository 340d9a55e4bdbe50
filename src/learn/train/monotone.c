/* learn/train/monotone.c: features of the columns along which scores may only rise, or fall. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "io/uri.h"
#include "learn/train/fit.h"
#include "rows/encode/encoder.h"

/* The number column of a raw log. */
static furrow_status find_field(const char *folder, const char *name, uint64_t *feature, furrow_error *err) {
  furrow_encoder *encoder = NULL;
  const fw_field *field = NULL;
  FW_TRY(furrow_encoder_load(&encoder, folder, err));
  for (size_t i = 0; !field && i < encoder->dictionary.count; i++)
    if (strcmp(encoder->dictionary.fields[i].name, name) == 0) field = &encoder->dictionary.fields[i];
  furrow_status status = FURROW_OK;
  if (!field)
    status = fw_fail(err, FURROW_E_ARGUMENT, "monotone: the log has no column %s that is a feature", name);
  else if (!fw_field_is_number(field))
    status = fw_fail(err, FURROW_E_ARGUMENT, "monotone: the column %s is not a number", name);
  else
    *feature = field->first; /* its value is scaled by a positive factor */
  furrow_encoder_free(encoder);
  return status;
}

/* The column of a table, by the list of names in the key `columns`. */
static furrow_status find_column(const char *columns, const char *name, uint64_t *feature, furrow_error *err) {
  uint64_t number = 0;
  for (const char *at = columns; at && at[0]; number++) {
    char *column = NULL;
    const size_t size = strcspn(at, ",");
    FW_TRY(fw_uri_decode(&column, at, size, err));
    const bool same = strcmp(column, name) == 0;
    fw_free(column);
    *feature = number;
    if (same) return FURROW_OK;
    at = at[size] ? at + size + 1 : NULL;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "monotone: there is no column %s", name);
  fw_error_set_hint(err, columns && columns[0] ? "numbers name features, too: the first is 0"
                                               : "the rows have no names of columns: name features by their numbers, "
                                                 "the first is 0");
  return FURROW_E_ARGUMENT;
}

static furrow_status find_feature(const furrow_trainer *t, const char *name, uint64_t *feature, furrow_error *err) {
  const fw_data_conf *data = &t->plan->data;
  const char *end = name + strlen(name);
  bool overflow = false;
  if (data->encoder) return find_field(data->encoder, name, feature, err);
  if (find_column(data->columns, name, feature, NULL) == FURROW_OK) return FURROW_OK;
  if (isdigit((unsigned char)name[0]) && fw_read_u64(name, end, feature, &overflow) == end && !overflow)
    return FURROW_OK;
  return find_column(data->columns, name, feature, err);
}

static furrow_status add_feature(const furrow_trainer *t, const char *text, size_t size, fw_monotone *list,
                                 size_t count, furrow_error *err) {
  char *name = NULL;
  FW_TRY(fw_uri_decode(&name, text, size, err));
  furrow_status status = find_feature(t, name, &list[count].feature, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    if (list[i].feature == list[count].feature)
      status = fw_fail(err, FURROW_E_ARGUMENT, "monotone: %s is there twice", name);
  fw_free(name);
  return status;
}

furrow_status fw_trainer_monotone(const furrow_trainer *trainer, fw_monotone **list, size_t *count, furrow_error *err) {
  const char *at = trainer->plan->forest.monotone, *name;
  fw_monotone *made = NULL;
  size_t size, most = 1, found = 0;
  *count = 0;
  if (!at) return FURROW_OK;
  for (const char *comma = at; (comma = strchr(comma, ',')); comma++) most++;
  const char *end = at + strlen(at);
  furrow_status status = FW_ALLOC(&made, most, err);
  while (status == FURROW_OK && at < end && fw_monotone_next(&at, end, &name, &size, &made[found].direction))
    status = add_feature(trainer, name, size, made, found++, err);
  if (status != FURROW_OK) {
    fw_free(made);
    return status;
  }
  *list = made;
  *count = found;
  return FURROW_OK;
}
