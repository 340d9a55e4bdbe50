/* cli/model/forest_source.h: a model of trees, opened for the commands that look at it. */
#ifndef CLI_MODEL_FOREST_SOURCE_H
#define CLI_MODEL_FOREST_SOURCE_H

#include <stdbool.h>

#include "furrow/learn.h"

/* Opens a model directory of gbdt; one without graph.json, as Angel writes it, has the defaults of gbdt. E_STATE: it is
 * a model of another kind. */
furrow_status forest_open(furrow_scorer **scorer, const char *folder, uint32_t threads, furrow_error *err);
/* Whether a listing is that of such a model. */
bool forest_is_listed(const furrow_model_listing *listing);

#endif
