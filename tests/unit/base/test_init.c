/* tests/unit/base/test_init.c: FURROW_INIT gives what the _init functions give, with the fields that are named. */
#include <math.h>
#include <string.h>

#include "furrow/furrow.h"
#include "support/cmocka_all.h"

#define INITIALISED(X)            \
  X(furrow_output)                \
  X(furrow_parser_params)         \
  X(furrow_dense_rows)            \
  X(furrow_rows_writer_params)    \
  X(furrow_rows_format)           \
  X(furrow_schema_propose_params) \
  X(furrow_table_split_params)    \
  X(furrow_encoder_params)        \
  X(furrow_matrix_spec)           \
  X(furrow_matrix_source_params)  \
  X(furrow_matrix_selection)      \
  X(furrow_matrix_scan_params)    \
  X(furrow_matrix_load_params)    \
  X(furrow_matrix_write_params)   \
  X(furrow_model_convert_params)  \
  X(furrow_matrix_stats_params)   \
  X(furrow_matrix_verify_params)  \
  X(furrow_matrix_compare_params) \
  X(furrow_model_export_params)   \
  X(furrow_model_import_params)   \
  X(furrow_trainer_params)        \
  X(furrow_trainer_fit_params)    \
  X(furrow_trainer_save_params)   \
  X(furrow_train_params)          \
  X(furrow_scorer_params)         \
  X(furrow_recommender_params)    \
  X(furrow_events_params)         \
  X(furrow_prepare_params)        \
  X(furrow_recommend_params)      \
  X(furrow_index_load_params)     \
  X(furrow_index_save_params)     \
  X(furrow_index_spec)            \
  X(furrow_index_train_params)    \
  X(furrow_index_add_params)      \
  X(furrow_id_filter)             \
  X(furrow_searcher_params)       \
  X(furrow_searcher_open_params)  \
  X(furrow_search_params)         \
  X(furrow_shards_params)         \
  X(furrow_vectors_reader_params) \
  X(furrow_vectors_memory)        \
  X(furrow_exact_search_params)   \
  X(furrow_kmeans_params)         \
  X(furrow_vectors_writer_params)

/* Padding of a static object is 0, as after _init. */
#define DEFAULTS(type) static const type defaults_##type = {.size = sizeof(type), FURROW_DEFAULTS_##type};
INITIALISED(DEFAULTS)

static void defaults_are_those_of_init(void **state) {
  (void)state;
#define COMPARE(type)                                                                 \
  {                                                                                   \
    type wanted;                                                                      \
    type##_init(&wanted);                                                             \
    if (memcmp(&wanted, &defaults_##type, sizeof wanted) != 0) fail_msg("%s", #type); \
    assert_int_equal(FURROW_INIT(type).size, sizeof(type));                           \
  }
  INITIALISED(COMPARE)
}

static void fields_that_are_given_count(void **state) {
  (void)state;
  const furrow_index_spec spec =
      FURROW_INIT(furrow_index_spec, .d = 64, .metric = FURROW_METRIC_IP, .by_residual = false);
  assert_int_equal(spec.size, sizeof spec);
  assert_int_equal(spec.d, 64);
  assert_int_equal(spec.metric, FURROW_METRIC_IP); /* 0, and not the default */
  assert_false(spec.by_residual);
  assert_int_equal(spec.nbits, 8);
  assert_int_equal(spec.refine_nbits, 8);
  assert_int_equal(spec.m, 0);
}

/* Its address is that of an object of the block; so is that of a struct inside of it. */
static void it_is_an_object(void **state) {
  (void)state;
  const furrow_train_params *params =
      &FURROW_INIT(furrow_train_params, .settings = (const char *const[]){"epochs=2", "rank=4", NULL},
                   .fit = &FURROW_INIT(furrow_trainer_fit_params, .patience = 3,
                                       .parser = &FURROW_INIT(furrow_parser_params, .format = "csv", .threads = 2)));
  assert_string_equal(params->settings[1], "rank=4");
  assert_null(params->settings[2]);
  assert_int_equal(params->fit->size, sizeof *params->fit);
  assert_string_equal(params->fit->metric, "loss");
  assert_int_equal(params->fit->patience, 3);
  assert_string_equal(params->fit->parser->format, "csv");
  assert_int_equal(params->fit->parser->nparts, 1);
  assert_null(params->save);
}

/* A call takes it as it takes a struct that _init has set up. */
static void calls_take_it(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  assert_int_equal(furrow_index_create(&index, &FURROW_INIT(furrow_index_spec, .d = 8, .nlist = 2, .m = 4), NULL),
                   FURROW_OK);
  furrow_index_free(index);
  assert_int_equal(furrow_index_create(&index, &FURROW_INIT(furrow_index_spec, .d = 8), &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "nlist"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_those_of_init),
      cmocka_unit_test(fields_that_are_given_count),
      cmocka_unit_test(it_is_an_object),
      cmocka_unit_test(calls_take_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
