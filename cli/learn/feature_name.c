/* cli/learn/feature_name.c: features of a model as people read and write them: columns, counted from 0. */
#include "learn/feature_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "core/options.h"

const char *feature_name(const furrow_scorer *scorer, uint64_t feature, char space[FEATURE_NAME]) {
  (void)scorer;
  snprintf(space, FEATURE_NAME, "%" PRIu64, feature);
  return space;
}

furrow_status feature_parse(const furrow_scorer *scorer, const char *name, size_t size, uint64_t *feature,
                            furrow_error *err) {
  (void)scorer;
  char text[FEATURE_NAME] = "";
  if (size < sizeof text) memcpy(text, name, size);
  return read_u64(text, feature) ? FURROW_OK : fail_token(err, *text ? text : name, "not the number of a feature");
}
