/* rows/encode/feature_sums.c: how often the features of a dictionary occurred in the logs that it learned from. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/encode/dictionary.h"

/* A field without counts: as if all its features occurred equally often. */
static void spread_field(const fw_dictionary *d, const fw_field *field, float *sums) {
  const double cells = d->records > field->missing ? (double)(d->records - field->missing) : 0;
  const bool one = fw_field_is_number(field); /* numbers are scaled to a mean square of about 1 */
  const uint64_t features = one ? 1 : field->size;
  for (uint64_t i = 0; i < features; i++)
    sums[fw_field_feature(field, i)] = (float)(cells / (double)(one ? 1 : features));
}

static void sum_field(const fw_dictionary *d, const fw_field *field, float *sums) {
  if (!fw_field_has_texts(field)) {
    spread_field(d, field, sums);
    if (fw_field_has_missing(field))
      sums[field->first + field->size - 1] =
          (float)(field->sparse && fw_field_is_number(field) ? d->records - field->missing : field->missing);
    return;
  }
  sums[fw_field_feature(field, FW_LOCAL_UNKNOWN)] = (float)field->unknown;
  sums[fw_field_feature(field, FW_LOCAL_MISSING)] = (float)field->missing;
  for (size_t i = 0; i < field->texts.count; i++)
    sums[fw_field_feature(field, FW_LOCAL_FIRST + i)] = (float)fw_get_le64(field->counts + 8 * i);
}

static const fw_field *key_field(const fw_dictionary *d, const char *key) {
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].column && fw_field_has_texts(&d->fields[i]) && strcmp(d->fields[i].column->name, key) == 0)
      return &d->fields[i];
  return NULL;
}

/* A feature of a table occurs whenever one of its keys does. */
static void sum_table(const fw_joined *table, const fw_field *keys, float *sums) {
  for (size_t i = 0; i < table->keys.count; i++) {
    size_t length;
    const char *key = fw_string_table_text(&table->keys, i, &length);
    const size_t found = fw_string_table_find(&keys->texts, key, length);
    if (found == FW_STRING_TABLE_NONE) continue;
    const float count = (float)fw_get_le64(keys->counts + 8 * found);
    for (uint64_t k = fw_get_le64(table->offsets + 8 * i); k < fw_get_le64(table->offsets + 8 * i + 8); k++) {
      const float value = fw_get_f32(table->value + 4 * k);
      sums[fw_get_le64(table->index + 8 * k)] += count * value * value;
    }
  }
}

furrow_status fw_dictionary_feature_sums(const fw_dictionary *d, const furrow_schema *schema, float **sums,
                                         furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(sums, d->features, err));
  for (size_t i = 0; i < d->count; i++)
    if (d->fields[i].table == SIZE_MAX) sum_field(d, &d->fields[i], *sums);
  for (size_t t = 0; t < d->table_count; t++) {
    const fw_field *keys = key_field(d, schema->tables[t].key);
    if (keys) sum_table(&d->tables[t], keys, *sums);
  }
  return FURROW_OK;
}
