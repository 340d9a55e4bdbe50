/* cli/model/model_target.h: how the model commands write matrices, and the options for it. */
#ifndef CLI_MODEL_MODEL_TARGET_H
#define CLI_MODEL_MODEL_TARGET_H

#include "core/options.h"
#include "furrow/model.h"
#include "model/model_source.h"

/* 0, NULL, -1 (row_type): not given. */
typedef struct target_values {
  const char *format;
  int32_t row_type;
  int32_t part_rows;
  int64_t part_cols;
  int32_t hash_parts, servers, parts_per_file;
  separator separator;
  const char *meta_name;
  bool angel_bytes, force;
} target_values;

extern const option target_options[];
void target_values_init(target_values *values);
/* Reports options that exclude each other and wrong names. */
furrow_status target_check(const target_values *values, furrow_error *err);
/* Sets the given parameters, which point into the values. */
void target_write_params(const target_values *values, uint32_t threads, furrow_matrix_write_params *params);

#endif
