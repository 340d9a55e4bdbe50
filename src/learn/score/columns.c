/* learn/score/columns.c: the columns of the data that features come from, and contributions summed by them. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/score/scorer.h"
#include "rows/encode/encoder.h"

/* ---- Columns of a model ---- */

/* The parts of a time are fields that come from one column, one after the other. */
static bool continues_column(const fw_dictionary *d, size_t field) {
  const fw_column *column = d->fields[field].column;
  return field > 0 && column && column == d->fields[field - 1].column;
}

/* Fields without a column are columns themselves: crosses, and the history. */
static furrow_status list_fields(fw_score_columns *columns, const fw_dictionary *d, furrow_error *err) {
  FW_TRY(FW_ALLOC(&columns->names, d->count, err));
  FW_TRY(FW_ALLOC(&columns->of_field, d->count, err));
  for (size_t i = 0; i < d->count; i++) {
    const fw_field *field = &d->fields[i];
    if (!continues_column(d, i)) columns->names[columns->count++] = field->column ? field->column->name : field->name;
    columns->of_field[i] = columns->count - 1;
  }
  return FURROW_OK;
}

furrow_status fw_score_columns_init(fw_score_columns *columns, const furrow_encoder *encoder, char **names,
                                    size_t name_count, furrow_error *err) {
  if (encoder) return list_fields(columns, &encoder->dictionary, err);
  FW_TRY(FW_ALLOC(&columns->names, name_count, err));
  for (size_t i = 0; i < name_count; i++) columns->names[i] = names[i];
  columns->count = name_count;
  return FURROW_OK;
}

void fw_score_columns_clear(fw_score_columns *columns) {
  fw_free((void *)columns->names);
  fw_free(columns->of_field);
  *columns = (fw_score_columns){0};
}

size_t furrow_scorer_column_count(const furrow_scorer *scorer) {
  return scorer->columns.count;
}

const char *furrow_scorer_column_name(const furrow_scorer *scorer, size_t column) {
  return column < scorer->columns.count ? scorer->columns.names[column] : NULL;
}

size_t furrow_scorer_feature_column(const furrow_scorer *scorer, uint64_t feature) {
  if (!scorer->encoder) return feature < scorer->columns.count ? (size_t)feature : SIZE_MAX;
  const fw_dictionary *d = &scorer->encoder->dictionary;
  if (feature >= d->features) return SIZE_MAX;
  return scorer->columns.of_field[fw_dictionary_field_of(d, feature)];
}

/* ---- Contributions of columns ---- */

static furrow_status add_features(double *sums, const furrow_scorer *scorer, const furrow_contributions *of,
                                  furrow_error *err) {
  for (size_t i = 0; i < of->count; i++) {
    const size_t column = furrow_scorer_feature_column(scorer, of->features[i]);
    if (column == SIZE_MAX)
      return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " contributes, but it does not belong to a column",
                     of->features[i]);
    for (size_t c = 0; c < of->classes; c++) sums[column * of->classes + c] += of->values[i * of->classes + c];
  }
  return FURROW_OK;
}

static furrow_status reserve_columns(fw_column_sums *sums, size_t count, size_t classes, furrow_error *err) {
  size_t numbers = 0;
  if (!fw_size_mul(count, classes, &numbers)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_GROW(&sums->columns, &sums->column_capacity, count, err));
  FW_TRY(FW_GROW(&sums->values, &sums->value_capacity, numbers, err));
  for (size_t i = 0; i < count; i++) sums->columns[i] = i;
  memset(sums->values, 0, numbers * sizeof *sums->values);
  return FURROW_OK;
}

void fw_column_sums_clear(fw_column_sums *sums) {
  fw_free(sums->columns);
  fw_free(sums->values);
  *sums = (fw_column_sums){0};
}

furrow_status furrow_scorer_column_contributions(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                 const furrow_row *row, furrow_contributions *contributions,
                                                 furrow_error *err) {
  const size_t count = scorer->columns.count;
  fw_column_sums *sums = &scratch->columns;
  furrow_contributions full;
  if (count == 0) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "the features of this model do not come from named columns");
    fw_error_set_hint(err, "models of raw logs and of csv files with a header have columns");
    return FURROW_E_UNSUPPORTED;
  }
  furrow_contributions_init(&full);
  FW_TRY(furrow_scorer_contributions(scorer, scratch, row, &full, err));
  FW_TRY(reserve_columns(sums, count, full.classes, err));
  FW_TRY(add_features(sums->values, scorer, &full, err));
  full.count = count;
  full.features = sums->columns;
  full.values = sums->values;
  fw_info_write(contributions, &full, sizeof full);
  return FURROW_OK;
}
