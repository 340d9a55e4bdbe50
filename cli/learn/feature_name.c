/* cli/learn/feature_name.c: features of a model as people read and write them: names of columns, or their numbers,
 * counted from 0. */
#include "learn/feature_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "core/options.h"

const char *feature_name(const furrow_scorer *scorer, uint64_t feature, char space[FEATURE_NAME]) {
  const char *name = furrow_scorer_feature_name(scorer, feature);
  if (name && *name) return name;
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
