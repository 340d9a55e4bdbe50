/* support/model_params.h: parameters of model functions that tests set in one line. */
#ifndef TEST_SUPPORT_MODEL_PARAMS_H
#define TEST_SUPPORT_MODEL_PARAMS_H

#include "furrow/exchange.h"

#define SCAN(chosen, count, bytes) \
  (&(furrow_matrix_scan_params){   \
      .size = sizeof(furrow_matrix_scan_params), .selection = (chosen), .threads = (count), .memory = (bytes)})
#define STATS(count, report, receiver)                                       \
  (&(furrow_matrix_stats_params){.size = sizeof(furrow_matrix_stats_params), \
                                 .threads = (count),                         \
                                 .progress = (report),                       \
                                 .progress_user = (receiver)})
#define VERIFY(reading, count, note, receiver)                                 \
  (&(furrow_matrix_verify_params){.size = sizeof(furrow_matrix_verify_params), \
                                  .source = (reading),                         \
                                  .threads = (count),                          \
                                  .found = (note),                             \
                                  .user = (receiver)})
#define COMPARE(bytes, list, count) \
  (&(furrow_matrix_compare_params){ \
      .size = sizeof(furrow_matrix_compare_params), .memory = (bytes), .top = (list), .top_capacity = (count)})

/* What parameters point at. */
typedef struct param_parts {
  furrow_matrix_source_params source;
  furrow_matrix_selection selection;
  furrow_matrix_write_params write;
  furrow_matrix_spec spec;
} param_parts;

static inline void param_parts_init(param_parts *parts) {
  furrow_matrix_source_params_init(&parts->source);
  furrow_matrix_selection_init(&parts->selection);
  furrow_matrix_write_params_init(&parts->write);
  furrow_matrix_spec_init(&parts->spec);
}

static inline void load_params_init(furrow_matrix_load_params *params, param_parts *parts) {
  furrow_matrix_load_params_init(params);
  param_parts_init(parts);
  params->source = &parts->source;
  params->selection = &parts->selection;
}

static inline void convert_params_init(furrow_model_convert_params *params, param_parts *parts) {
  furrow_model_convert_params_init(params);
  param_parts_init(parts);
  params->source = &parts->source;
  params->selection = &parts->selection;
  params->write = &parts->write;
}

static inline void export_params_init(furrow_model_export_params *params, param_parts *parts) {
  furrow_model_export_params_init(params);
  param_parts_init(parts);
  params->source = &parts->source;
  params->selection = &parts->selection;
}

static inline void import_params_init(furrow_model_import_params *params, param_parts *parts) {
  furrow_model_import_params_init(params);
  param_parts_init(parts);
  params->spec = &parts->spec;
  params->write = &parts->write;
}

#endif
