/* furrow/init.h: parameters as expressions, for C.
 *
 *   furrow_searcher_search(searcher, queries, n, k, &FURROW_INIT(furrow_search_params, .nprobe = 16), …);
 *   furrow_index_spec spec = FURROW_INIT(furrow_index_spec, .d = 128, .nlist = 1024, .m = 16);
 *
 * C++17 has neither compound literals nor designated initialisers: programs in C++ call the functions _init.
 *
 * Threads: there are no functions here.
 */
#ifndef FURROW_INIT_H
#define FURROW_INIT_H

#include "furrow/status.h"

/* An initialised struct of a type that its _init function sets up for a call: every struct of parameters,
 * furrow_index_spec, furrow_id_filter, furrow_matrix_spec, furrow_matrix_selection, furrow_dense_rows,
 * furrow_vectors_memory, furrow_rows_format and furrow_output. The fields that are given (`.field = value`) have these
 * values; `size` is set, and all others have their defaults, as after _init. It is a compound literal: its address may
 * be taken, and is valid until the end of the enclosing block.
 *
 * Giving a field whose default is not 0 initialises it twice. C allows that, and the last value counts, but clang and
 * gcc -Wextra warn: assign such a field afterwards, or compile with -Wno-override-init. */
#ifndef __cplusplus
#define FURROW_INIT(...) FURROW_INIT_FIELDS(__VA_ARGS__, )
#endif

/* What FURROW_INIT expands to, and the defaults that are not 0. Programs use FURROW_INIT. */
#ifndef __cplusplus
#define FURROW_INIT_FIELDS(type, ...) ((type){.size = sizeof(type), FURROW_DEFAULTS_##type __VA_ARGS__})
#define FURROW_DEFAULTS_furrow_output
#define FURROW_DEFAULTS_furrow_parser_params .format = "auto", .nparts = 1,
#define FURROW_DEFAULTS_furrow_dense_rows
#define FURROW_DEFAULTS_furrow_rows_writer_params .format = "libsvm", .delimiter = ',', .zeros_missing = true,
#define FURROW_DEFAULTS_furrow_rows_format
#define FURROW_DEFAULTS_furrow_schema_propose_params
#define FURROW_DEFAULTS_furrow_table_split_params
#define FURROW_DEFAULTS_furrow_encoder_params
#define FURROW_DEFAULTS_furrow_matrix_spec \
  .row_type = -1, .part_size = 500000, .max_parts = 500, .servers = 1, .parts_per_file = 5,
#define FURROW_DEFAULTS_furrow_matrix_source_params .row_type = -1,
#define FURROW_DEFAULTS_furrow_matrix_selection .first_col = INT64_MIN, .end_col = INT64_MAX,
#define FURROW_DEFAULTS_furrow_matrix_scan_params
#define FURROW_DEFAULTS_furrow_matrix_load_params
#define FURROW_DEFAULTS_furrow_matrix_write_params
#define FURROW_DEFAULTS_furrow_model_convert_params .row_type = -1,
#define FURROW_DEFAULTS_furrow_matrix_stats_params
#define FURROW_DEFAULTS_furrow_matrix_verify_params
#define FURROW_DEFAULTS_furrow_matrix_compare_params
#define FURROW_DEFAULTS_furrow_model_export_params
#define FURROW_DEFAULTS_furrow_model_import_params
#define FURROW_DEFAULTS_furrow_trainer_params
#define FURROW_DEFAULTS_furrow_trainer_fit_params .metric = "loss", .checkpoint_every = 1,
#define FURROW_DEFAULTS_furrow_trainer_save_params
#define FURROW_DEFAULTS_furrow_train_params
#define FURROW_DEFAULTS_furrow_scorer_params
#define FURROW_DEFAULTS_furrow_forest_import_params
#define FURROW_DEFAULTS_furrow_recommender_params
#define FURROW_DEFAULTS_furrow_recommender_fit_params .k = 10,
#define FURROW_DEFAULTS_furrow_events_params .from = -HUGE_VAL,
#define FURROW_DEFAULTS_furrow_prepare_params .k = 10, .recall = 0.99, .keep = true,
#define FURROW_DEFAULTS_furrow_recommend_params .k = 10,
#define FURROW_DEFAULTS_furrow_index_load_params
#define FURROW_DEFAULTS_furrow_index_save_params
#define FURROW_DEFAULTS_furrow_index_spec \
  .metric = FURROW_METRIC_L2, .nbits = 8, .by_residual = true, .refine_nbits = 8,
#define FURROW_DEFAULTS_furrow_index_train_params \
  .seed = 1234, .coarse_rounds = 10, .pq_rounds = 25, .sample_per_list = 256,
#define FURROW_DEFAULTS_furrow_index_add_params
#define FURROW_DEFAULTS_furrow_index_tune_params .recall = 0.95,
#define FURROW_DEFAULTS_furrow_id_filter
#define FURROW_DEFAULTS_furrow_searcher_params
#define FURROW_DEFAULTS_furrow_searcher_open_params
#define FURROW_DEFAULTS_furrow_search_params
#define FURROW_DEFAULTS_furrow_filtered_params .recall = 0.95,
#define FURROW_DEFAULTS_furrow_columns_params
#define FURROW_DEFAULTS_furrow_shards_params
#define FURROW_DEFAULTS_furrow_table_writer_params
#define FURROW_DEFAULTS_furrow_vectors_reader_params .first_id = INT64_MIN, .end_id = INT64_MAX,
#define FURROW_DEFAULTS_furrow_vectors_memory
#define FURROW_DEFAULTS_furrow_exact_search_params .metric = FURROW_METRIC_L2,
#define FURROW_DEFAULTS_furrow_kmeans_params .rounds = 25, .seed = 1234, .sample_per_centroid = 256,
#define FURROW_DEFAULTS_furrow_vectors_writer_params
#endif

#endif
