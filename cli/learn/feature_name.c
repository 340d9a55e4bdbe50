/* cli/learn/feature_name.c: features of a model as people read and write them: names of columns, or their numbers,
 * counted from 0. */
#include "learn/feature_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "core/options.h"

static bool name_encoded(const furrow_encoder *encoder, uint64_t index, char space[FEATURE_NAME]) {
  furrow_encoder_feature feature;
  furrow_encoder_field field;
  if (!encoder || furrow_encoder_get_feature(encoder, index, &feature, NULL) != FURROW_OK) return false;
  furrow_encoder_get_field(encoder, feature.field, &field);
  if (feature.length > 0)
    snprintf(space, FEATURE_NAME, "%.100s=%.*s", field.name, (int)(feature.length < 150 ? feature.length : 150),
             feature.name);
  else if (index == field.first && field.count <= 2)
    snprintf(space, FEATURE_NAME, "%.100s", field.name);
  else
    snprintf(space, FEATURE_NAME, "%.100s[%" PRIu64 "]", field.name, index - field.first);
  return true;
}

const char *feature_name(const furrow_scorer *scorer, uint64_t feature, char space[FEATURE_NAME]) {
  const char *name = furrow_scorer_feature_name(scorer, feature);
  if (name && *name) return name;
  if (name_encoded(furrow_scorer_encoder(scorer), feature, space)) return space;
  snprintf(space, FEATURE_NAME, "%" PRIu64, feature);
  return space;
}

furrow_status feature_parse(const furrow_scorer *scorer, const char *name, size_t size, uint64_t *feature,
                            furrow_error *err) {
  char text[FEATURE_NAME] = "";
  const char *known;
  for (uint64_t i = 0; (known = furrow_scorer_feature_name(scorer, i)); i++)
    if (strlen(known) == size && memcmp(known, name, size) == 0) {
      *feature = i;
      return FURROW_OK;
    }
  if (size < sizeof text) memcpy(text, name, size);
  return read_u64(text, feature) ? FURROW_OK
                                 : fail_token(err, *text ? text : name, "neither the name nor the number of a feature");
}
