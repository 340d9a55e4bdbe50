/* cli/learn/feature_name.h: features of a model as people read and write them. */
#ifndef CLI_LEARN_FEATURE_NAME_H
#define CLI_LEARN_FEATURE_NAME_H

#include "furrow/learn.h"

enum { FEATURE_NAME = 256 };

/* Returns the name of a feature: that of its column, "column=value" of a raw log, or its number, written to `space`. */
const char *feature_name(const furrow_scorer *scorer, uint64_t feature, char space[FEATURE_NAME]);
/* Finds a feature by its name, or number, of `size` bytes. */
furrow_status feature_parse(const furrow_scorer *scorer, const char *name, size_t size, uint64_t *feature,
                            furrow_error *err);

#endif
