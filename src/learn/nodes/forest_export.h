/* learn/nodes/forest_export.h: forests as model files of other programs. */
#ifndef FW_LEARN_NODES_FOREST_EXPORT_H
#define FW_LEARN_NODES_FOREST_EXPORT_H

#include "learn/nodes/node_forest.h"

typedef struct fw_export_model {
  const fw_node_forest *forest;
  const char *objective; /* as the key has it */
  double quantile;       /* of reg:quantileerror */
  const char *const *names;
  size_t name_count;
} fw_export_model;

/* Appends xgboost's JSON. E_UNSUPPORTED: a split or a prediction that xgboost does not have. */
furrow_status fw_xgboost_write(const fw_export_model *model, fw_buffer *out, furrow_error *err) FURROW_MUST_USE;

#endif
