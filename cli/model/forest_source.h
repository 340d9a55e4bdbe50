/* cli/model/forest_source.h: opens the gbdt models of the commands about trees. */
#ifndef CLI_MODEL_FOREST_SOURCE_H
#define CLI_MODEL_FOREST_SOURCE_H

#include <stdbool.h>

#include "furrow/learn.h"

/* Opens a gbdt model directory; without graph.json, as Angel writes it, gbdt's defaults apply. E_STATE: the model has
 * no trees. */
furrow_status forest_open(furrow_scorer **scorer, const char *folder, uint32_t threads, furrow_error *err);
/* Returns whether a listing is that of a gbdt model. */
bool forest_is_listed(const furrow_model_listing *listing);

#endif
