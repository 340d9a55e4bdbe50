/* serve/catalog/model_classes.h: what people call the classes of a model. */
#ifndef SERVE_CATALOG_MODEL_CLASSES_H
#define SERVE_CATALOG_MODEL_CLASSES_H

#include "catalog/served_model.h"

/* Fills in version->classes: of each class the name that the model keeps for it (the setting class-names, or the schema
 * of a log), or its label.
 * Errors: E_FORMAT, class-names is not a list with a string, a number or a boolean for each class; E_MEMORY. */
furrow_status model_classes_make(model_version *version, furrow_error *err);
void model_classes_free(model_version *version);
/* The class with a label of furrow_score, as JSON; NULL: there is none. */
const char *model_class_of(const model_version *version, double label);

#endif
